# make demo   the whole story on built-in data (sets everything up first)
# make test   the fast tests                   (sets everything up first)
# make dev    an editable install for working on linnet
# make lint   ruff, mypy --strict, cython-lint
# make test-all  the slow tests too: data sets, long property tests
# make bench  linnet beside scikit-learn, fastText and Vowpal Wabbit; rewrites the tables of the README
# make bench-scale  linnet filter on 2 GB beside fastText: throughput, threads, memory (needs Debian's fasttext)
# make explore  the property tests on examples never drawn before
# make fuzz   a million random inputs for the tokenisers and blocks, against the plain-Python reference and alone
# make docs   check the documentation's examples
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
SOURCES := $(shell find src -name '*.py' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.h' -o -name '*.csv' -o -name '*.css' -o -name '*.js' -o -name meson.build) meson.build pyproject.toml

export LINNET_DATA ?= $(abspath ../shared/data)

.PHONY: demo test test-all explore fuzz dev lint bench bench-scale docs clean

demo: $(VENV)/.installed
	$(BIN)/linnet demo

test: $(VENV)/.installed
	$(BIN)/python -m pytest -q -n auto --dist loadfile -m "not slow" tests

test-all: $(VENV)/.installed
	$(BIN)/python -m pytest -q -n auto --dist loadfile tests

explore: $(VENV)/.installed
	LINNET_EXPLORE=1 $(BIN)/python -m pytest -q -n auto --dist loadfile -m "not slow" tests

fuzz: $(VENV)/.installed
	$(BIN)/python tools/fuzz_tokens.py --inputs 1000000
	$(BIN)/python tools/fuzz_blocks.py --inputs 1000000 --kernels
	$(BIN)/python tools/fuzz_blocks.py --inputs 200000

lint: $(VENV)/.tools
	$(BIN)/ruff check --no-cache src tests benchmarks tools
	$(BIN)/ruff format --check src tests benchmarks tools
	$(BIN)/mypy
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/cython-lint src/linnet/_kernels

bench: $(VENV)/.installed
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

bench-scale: $(VENV)/.installed
	$(PIP) install -c constraints.txt fasttext-wheel
	$(BIN)/python benchmarks/scale.py --data $(LINNET_DATA) --json benchmarks/results/scale.json

docs: $(VENV)/.installed
	$(BIN)/python -m pytest -q tests/test_docs.py

# What the tests need, and linnet itself as a user would get it: built and installed, not linked.
$(VENV)/.tools: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt $$($(BIN)/python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; print(*('\"%s\"' % d for d in p['dependencies'] + p['optional-dependencies']['dev']))" | tr -d '"')
	touch $@

$(VENV)/.installed: $(VENV)/.tools $(SOURCES)
	PATH="$(abspath $(BIN)):$$PATH" $(PIP) install --no-build-isolation --no-deps --force-reinstall .
	touch $@

dev: $(VENV)/.tools
	PATH="$(abspath $(BIN)):$$PATH" $(PIP) install --no-build-isolation --no-deps -e .

clean:
	rm -rf build $(VENV)
