"""The models of a server, by name, in private copies. A reload reads the files that have changed and replaces all at once.

A request keeps the model it began with, so nothing is dropped and no answer mixes two models. What is mapped is a private copy of
the file, unpacked, which all workers share: whatever is done to the file, the model in use stays as it is.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from linnet.classifier import TextClassifier, load
from linnet.errors import LinnetError, ModelFileError, nearest
from linnet.model.file import version_in_use
from linnet.serve.settings import RequestError
from linnet.values import size_text

# ---- Private copies of model files. All workers map the same copy, so it is in memory once.
#
# A file that is mapped must not change: who truncates it ends every process that reads a page behind its new end (SIGBUS). The
# server therefore maps a copy that nobody else knows of. It lies in a temporary folder of the server's own (``temporary_folder``).


Signature = tuple[int, int, int, int]


def _copy_of(signature: Signature, folder: Path) -> Path:
    return folder / ("-".join(map(str, signature)) + ".linnet")


def signature_of(path: Path) -> Signature:
    """Return what tells whether a file is another one, or was written to."""
    try:
        found = path.stat()
    except OSError:  # whoever reads it will say what is wrong
        return 0, 0, 0, 0
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
    def _known(self) -> set[tuple[type, Any]]:
        return {(type(label), label) for label in self.labels}

    def check_labels(self, labels: Sequence[Any]) -> None:
        """Refuse labels that the model does not have."""
        for label in labels:
            if (type(label), label) not in self._known:
                raise RequestError("unknown_label", nearest("label", str(label), map(str, self.labels)))

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

    def __init__(self, models: Sequence[tuple[str, str]], folder: str, threads: int = 1, trust: bool = False) -> None:
        self._folder, self._threads, self._trust = Path(folder), threads, trust
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
        used = {_copy_of(served.signature, self._folder) for served in fresh.values()}
        for path in {*self._folder.glob("*.linnet")} - used:  # processes that have mapped one keep it
            path.unlink(missing_ok=True)
        return changed

    def another_version(self) -> bool:
        """Whether a folder of versions has another one in use than is served; one that cannot be told is not."""
        with contextlib.suppress(LinnetError, OSError):
            return any(path.is_dir() and self._changed(path, self.models[name]) for name, path in self._paths.items())
        return False

    def _changed(self, path: Path, served: ServedModel) -> bool:
        return signature_of(version_in_use(path)) != served.signature

    def _read(self, name: str, path: Path) -> ServedModel:
        """Read one model from a copy in the folder; of a file that is being replaced, the new one."""
        path = version_in_use(path)
        for attempt in range(5):
            signature, version = signature_of(path), _version(path)
            if version is None:
                load(path, trust=self._trust)  # says what it is instead
            copy = _copy_of(signature, self._folder)
            try:
                if not copy.exists():  # another worker may have made it
                    _unpack(path, copy, self._trust)
                clf = load(copy, n_jobs=self._threads, verify=False, trust=self._trust)
            except ModelFileError:
                if attempt and signature_of(path) == signature:
                    raise
                continue  # the file changes, or another worker has a newer one and has removed the copy
            if signature_of(path) == signature:
                return ServedModel(name, path, clf, version or "unknown", signature)
        raise ModelFileError(f"{path}: the file changes all the time; write it under another name and rename it")


def _unpack(path: Path, copy: Path, trust: bool) -> None:
    """Write a model as it is in memory, to be mapped by all workers. Its own file is not mapped: it may be cut meanwhile."""
    try:
        model = load(path.read_bytes(), trust=trust).artefact
    except (OSError, ModelFileError) as error:
        raise ModelFileError(str(error).replace("the given bytes", repr(str(path)))) from error
    try:
        model.save(copy, mapped=True)
    except ModelFileError as error:
        room = size_text(path.stat().st_size) if path.is_file() else "the model"
        raise ModelFileError(f"{path}: {error}; set TMPDIR to a folder with room for several times {room}") from error


def _version(path: Path) -> str | None:
    """Return the first digits of the checksum of a model file; None where it is none."""
    try:
        with path.open("rb") as file:
            found = _CHECKSUM.search(file.read(256))
    except OSError:
        return None
    return found.group(1)[:12].decode() if found else None
