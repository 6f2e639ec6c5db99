# make demo   the whole story on built-in data (sets up what it needs first: a compiler is enough)
# make test   the fast tests                   (sets up the developers' tools and all extras first)
# make dev    an editable install for working on linnet
# make lint   ruff, mypy --strict, cython-lint
# make test-all  the slow tests too: data sets, long property tests
# make bench  linnet beside scikit-learn, fastText and Vowpal Wabbit; rewrites the tables of the README
# make bench-scale  linnet filter on 2 GB beside fastText: throughput, threads, memory (needs Debian's fasttext)
# make explore  the property tests on examples never drawn before
# make fuzz   a million random inputs for the tokenisers and blocks, against the plain-Python reference and alone
# make hostile  bad inputs, altered model files, kills, full disks, closed pipes; rewrites docs/reliability.md (40 minutes)
# make docs   check the documentation's examples
# make coverage  run every item of the lecture notes; rewrites docs/notes/coverage.md
# make notebooks  the companion to the notes as Jupyter notebooks in notebooks/
# make site   the documentation as a web site in site/, to be opened as files or served; a wrong link is an error
# make sdist  the source distribution, tried in a fresh environment: build, install, demo, predict
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
# Bytecode of all packages, in as many processes as there are cores: without it every start would compile them again where
# PYTHONDONTWRITEBYTECODE is set. Some packages ship templates that do not compile.
COMPILE := $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib > /dev/null 2>&1
SOURCES := $(shell find src -name '*.py' -o -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.h' -o -name '*.csv' -o -name '*.css' -o -name '*.js' -o -name meson.build) meson.build pyproject.toml

export LINNET_DATA ?= $(abspath ../shared/data)

.PHONY: demo test test-all explore fuzz hostile dev lint bench bench-scale docs coverage notebooks site sdist clean

demo: $(VENV)/.installed
	$(BIN)/linnet demo

test: $(VENV)/.installed $(VENV)/.tools
	$(BIN)/python -m pytest -q -n auto --dist loadfile -m "not slow" tests

test-all: $(VENV)/.installed $(VENV)/.tools
	$(BIN)/python -m pytest -q -n auto --dist loadfile tests

explore: $(VENV)/.installed $(VENV)/.tools
	LINNET_EXPLORE=1 $(BIN)/python -m pytest -q -n auto --dist loadfile -m "not slow" tests

fuzz: $(VENV)/.installed $(VENV)/.tools
	$(BIN)/python tools/fuzz_tokens.py --inputs 1000000
	$(BIN)/python tools/fuzz_blocks.py --inputs 1000000 --kernels
	$(BIN)/python tools/fuzz_blocks.py --inputs 200000

hostile: $(VENV)/.installed $(VENV)/.tools
	$(BIN)/python tools/hostile.py

lint: $(VENV)/.tools
	$(BIN)/ruff check --no-cache src tests benchmarks tools
	$(BIN)/ruff format --check src tests benchmarks tools
	$(BIN)/mypy
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/cython-lint src/linnet/_kernels

bench: $(VENV)/.installed $(VENV)/.tools
	$(PIP) install -c constraints.txt -r benchmarks/requirements.txt
	$(BIN)/python benchmarks/peers.py --data $(LINNET_DATA) --json benchmarks/results/peers.json
	$(BIN)/python benchmarks/accuracy.py --data $(LINNET_DATA) --json benchmarks/results/accuracy.json
	$(BIN)/python benchmarks/solvers.py --data $(LINNET_DATA) --json benchmarks/results/solvers.json
	$(BIN)/python benchmarks/feed_forward.py --data $(LINNET_DATA) --json benchmarks/results/feed_forward.json
	$(BIN)/python benchmarks/cleaning.py --data $(LINNET_DATA) --json benchmarks/results/cleaning.json
	$(BIN)/python benchmarks/blocks.py --data $(LINNET_DATA) --json benchmarks/results/blocks.json
	$(BIN)/python benchmarks/tokenisers.py --data $(LINNET_DATA) --json benchmarks/results/tokenisers.json
	$(BIN)/python benchmarks/serving.py --data $(LINNET_DATA) --json benchmarks/results/serving.json
	$(BIN)/python benchmarks/render.py

bench-scale: $(VENV)/.installed $(VENV)/.tools
	$(PIP) install -c constraints.txt fasttext-wheel
	$(BIN)/python benchmarks/scale.py --data $(LINNET_DATA) --json benchmarks/results/scale.json

docs: $(VENV)/.installed $(VENV)/.tools
	$(BIN)/python -m pytest -q tests/test_docs.py

coverage: $(VENV)/.installed $(VENV)/.tools
	$(BIN)/python tools/coverage.py

notebooks:
	$(PYTHON) tools/notebooks.py notebooks

# Not with -q: then warnings would not count.
site: $(VENV)/.tools
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "open site/index.html"

sdist: $(VENV)/.runtime
	rm -rf dist
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -c "import mesonpy; mesonpy.build_sdist('dist')"
	$(PYTHON) -m venv dist/fresh
	PIP_CONSTRAINT=constraints.txt dist/fresh/bin/python -m pip --disable-pip-version-check -q install dist/linnet-*.tar.gz
	cd dist && fresh/bin/linnet demo && echo "Where is my parcel?" | fresh/bin/linnet predict tickets.linnet - --proba

# What building and running linnet takes, and linnet itself as a user would get it: built and installed, not linked.
$(VENV)/.runtime: pyproject.toml constraints.txt tools/requirements.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python tools/requirements.py > $(VENV)/requirements.txt
	$(PIP) install --no-compile -c constraints.txt -r $(VENV)/requirements.txt
	-$(COMPILE)
	touch $@

$(VENV)/.installed: $(VENV)/.runtime $(SOURCES)
	PATH="$(abspath $(BIN)):$$PATH" $(PIP) install --no-build-isolation --no-deps --force-reinstall .
	touch $@

# The developers' tools and what every extra needs.
$(VENV)/.tools: $(VENV)/.runtime
	$(BIN)/python tools/requirements.py dev > $(VENV)/requirements.txt
	$(PIP) install --no-compile -c constraints.txt -r $(VENV)/requirements.txt
	-$(COMPILE)
	touch $@

dev: $(VENV)/.tools
	PATH="$(abspath $(BIN)):$$PATH" $(PIP) install --no-build-isolation --no-deps -e .

clean:
	rm -rf build $(VENV)
