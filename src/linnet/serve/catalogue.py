"""The models of a server, by name, in private copies. A reload reads the files that have changed and replaces all at once.

A request keeps the model it began with, so nothing is dropped and no answer mixes two models. What is mapped is a private copy of
the file, unpacked, which all workers share: whatever is done to the file, the model in use stays as it is.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.classifier import TextClassifier, load
from linnet.errors import LinnetError, ModelFileError, nearest
from linnet.files import lock_file
from linnet.model.registry import version_in_use
from linnet.serve.settings import RequestError
from linnet.values import size_text

# ---- Private copies of model files. All workers map the same copy, so it is in memory once.
#
# A file that is mapped must not change: who truncates it ends every process that reads a page behind its new end (SIGBUS). The
# server therefore maps a copy that nobody else knows of. It lies in a folder of the server's own, in TMPDIR, which goes when the
# server ends; that of a server that was killed goes when the next one starts.


Signature = tuple[int, int, int, int]
PREFIX = "linnet-serve-"
LOCK = "lock"


@contextlib.contextmanager
def server_folder() -> Iterator[Path]:
    """Make a folder for what the processes of a server share; remove those that killed servers have left."""
    try:
        place = Path(tempfile.gettempdir())
        for left in place.glob(f"{PREFIX}*"):
            _remove_left(left)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    except OSError as error:
        raise LinnetError(f"no temporary folder can be made ({error.strerror or error}); set TMPDIR to one") from error
    try:
        with (folder / "locking").open("wb") as held:
            lock_file(held, f"{folder} is in use")
            (folder / "locking").rename(folder / LOCK)  # under its name it is always held
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_left(folder: Path) -> None:
    """Remove the folder of a server that is gone: nobody holds its lock, and it is ours."""
    with contextlib.suppress(OSError, LinnetError):
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return
        with (folder / LOCK).open("rb") as held:
            lock_file(held, "in use")
            shutil.rmtree(folder, ignore_errors=True)


def private_copy(path: Path, folder: Path) -> tuple[Path, Signature]:
    """Return the copy of a file as it is now; another process may have made it."""
    try:
        with path.open("rb") as source:
            before = _signature(os.fstat(source.fileno()))
            target = folder / ("-".join(map(str, before)) + ".linnet")
            if target.exists():
                return target, before
            temporary = folder / f"{secrets.token_hex(8)}.tmp"
            try:
                with temporary.open("xb") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
                if _signature(os.fstat(source.fileno())) == before and temporary.stat().st_size == before[3]:
                    with contextlib.suppress(FileExistsError):
                        os.link(temporary, target)  # not a rename: the first copy stays, for all
            finally:
                temporary.unlink(missing_ok=True)
    except OSError as error:
        size = size_text(path.stat().st_size) if path.is_file() else "the model"
        raise ModelFileError(
            f"{path}: cannot be copied to {folder} ({error.strerror or error}); set TMPDIR to a folder with room for {size}"
        ) from error
    return target, before


def remove_others(folder: Path, used: Iterable[Signature]) -> None:
    """Remove copies that are no longer needed; processes that have mapped one keep it."""
    names = {"-".join(map(str, signature)) for signature in used}
    for path in (*folder.glob("*.linnet"), *folder.glob("*.mapped")):
        if path.stem not in names:
            path.unlink(missing_ok=True)


def signature_of(path: Path) -> Signature:
    """Return what tells whether a file is another one, or was written to."""
    try:
        return _signature(path.stat())
    except OSError:  # whoever reads it will say what is wrong
        return 0, 0, 0, 0


def _signature(found: os.stat_result) -> Signature:
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


_CHECKSUM = re.compile(rb'"checksum":"sha256:([0-9a-f]{64})"')


@dataclass(frozen=True, eq=False)
class ServedModel:
    """One model, as it was when it was read."""

    name: str
    path: Path
    clf: TextClassifier
    version: str  # the first digits of the file's checksum
    signature: Signature
    loaded: float = field(default_factory=time.time)

    @cached_property
    def labels(self) -> list[Any]:
        """The labels, in the order of the scores."""
        return list(self.clf.artefact.classes)

    @cached_property
    def _numbers(self) -> dict[tuple[type, Any], int]:
        return {(type(label), label): k for k, label in enumerate(self.labels)}

    def columns(self, labels: Sequence[Any]) -> npt.NDArray[np.int64]:
        """Return the numbers of some labels, in the model's order."""
        found = set()
        for label in labels:
            if (type(label), label) not in self._numbers:
                raise RequestError("unknown_label", nearest("label", str(label), map(str, self.labels)))
            found.add(self._numbers[type(label), label])
        return np.array(sorted(found), dtype=np.int64)

    @cached_property
    def about(self) -> dict[str, Any]:
        """What /v1/models says about it."""
        artefact = self.clf.artefact
        return {
            "name": self.name,
            "version": self.version,
            "file": self.path.name,
            "bytes": self.signature[3],
            "model": artefact.card.get("settings", {}).get("model"),
            "features": artefact.n_features,
            "labels": self.labels,
            "calibrated": artefact.calibrated,
            "linnet": artefact.card.get("linnet"),
            "loaded": datetime.fromtimestamp(self.loaded, UTC).isoformat(timespec="seconds"),
        }


class Catalogue:
    """The models by name; the first is used where a request names none."""

    def __init__(
        self, models: Sequence[tuple[str, str]], threads: int = 1, folder: str | None = None, trust: bool = False
    ) -> None:
        if not models:
            raise LinnetError("there is no model to serve; name at least one file")
        self._threads, self._trust = threads, trust
        if folder is None:
            self._own = tempfile.TemporaryDirectory(prefix="linnet-")  # as long as the catalogue
            folder = self._own.name
        self._folder = Path(folder)
        self._paths = {name: Path(path) for name, path in models}
        self.default = models[0][0]
        self.models = {name: self._read(name, path) for name, path in self._paths.items()}

    def get(self, name: str | None) -> ServedModel:
        """Return a model by name."""
        try:
            return self.models[name if name is not None else self.default]
        except KeyError:
            raise RequestError("unknown_model", nearest("model", str(name), self.models)) from None

    def to_dict(self) -> dict[str, Any]:
        """Return what /v1/models says."""
        return {"default": self.default, "models": [served.about for served in self.models.values()]}

    def reload(self) -> list[str]:
        """Read every file that has changed; returns their names. If one cannot be read, all stay as they were."""
        fresh = {
            name: served if not self._changed(path, served) else self._read(name, path)
            for (name, path), served in zip(self._paths.items(), self.models.values(), strict=True)
        }
        changed = [name for name in fresh if fresh[name] is not self.models[name]]
        self.models = fresh  # one assignment: a request sees the old models or the new ones
        remove_others(self._folder, (served.signature for served in fresh.values()))
        return changed

    def another_version(self) -> bool:
        """Whether a folder of versions has another one in use than is served; one that cannot be told is not."""
        with contextlib.suppress(LinnetError, OSError):
            return any(path.is_dir() and self._changed(path, self.models[name]) for name, path in self._paths.items())
        return False

    def _changed(self, path: Path, served: ServedModel) -> bool:
        return signature_of(version_in_use(path)) != served.signature

    def _read(self, name: str, path: Path) -> ServedModel:
        return read(name, version_in_use(path), self._folder, self._threads, self._trust)


def read(name: str, path: Path, folder: Path, threads: int = 1, trust: bool = False) -> ServedModel:
    """Read one model from a copy in a folder; of a file that is being replaced, the new one."""
    for _ in range(5):
        if not _looks_like_a_model(path):
            load(path, trust=trust)  # says what it is instead
        copy, signature = private_copy(path, folder)
        try:
            shared = copy.with_suffix(".mapped")
            if not shared.exists():  # unpacked once, and mapped by all workers
                load(copy, verify=True, trust=trust).artefact.save(shared, mapped=True)
            clf = load(shared, n_jobs=threads, verify=False, trust=trust)
            with copy.open("rb") as file:
                found = _CHECKSUM.search(file.read(256))
        except (ModelFileError, FileNotFoundError) as error:
            if signature_of(path) != signature or not copy.exists():  # it changes, or another worker has a newer one
                continue
            raise ModelFileError(str(error).replace(str(copy), str(path))) from error
        if signature_of(path) == signature:
            return ServedModel(name, path, clf, found.group(1)[:12].decode() if found else "unknown", signature)
    raise ModelFileError(f"{path}: the file changes all the time; write it under another name and rename it")


def _looks_like_a_model(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _CHECKSUM.search(file.read(256)) is not None
    except OSError:
        return False
