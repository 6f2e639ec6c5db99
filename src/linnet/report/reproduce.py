"""How to reproduce the report: the command, the files and their checksums, the versions."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version
from pathlib import Path

from linnet import __version__
from linnet.draw.markup import note, safe, table
from linnet.report.inputs import ReportInputs

__all__ = ["reproduce"]


def reproduce(inputs: ReportInputs) -> str:
    """Write the command and what it was run with."""
    rows = [[safe(kind), f"{safe(path)}{_checksum(Path(path))}"] for kind, path in inputs.files.items()]
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pyarrow"))
    rows.append(["versions", f"linnet {__version__}, Python {platform.python_version()}, {safe(packages)}"])
    rows.append(["seed", str(inputs.seed)])
    return (
        f'<pre class="command">{safe(inputs.command)}</pre>'
        + table(["", ""], rows, "card")
        + note("The same model and rows give the same file, byte for byte.")
    )


def _checksum(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return f' <span class="interval">sha256 {digest}</span>'
