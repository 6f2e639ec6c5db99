"""The settings of a server: models, address, limits. One value that every worker gets."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.errors import LinnetError

TOKEN_VARIABLE = "LINNET_TOKEN"


@dataclass(frozen=True)
class Settings:
    """The settings of ``linnet serve``; the names are those of its options."""

    models: tuple[tuple[str, str], ...]  # (name, path); the first is the default
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    threads: int = 1  # that one large batch may use, in each worker
    max_body: int = 16_000_000  # bytes of a request
    max_text: int = 1_000_000  # characters of a text
    max_batch: int = 10_000  # texts of a request
    max_explain: int = 20_000  # characters of a text to explain
    max_waiting: int = 1_000  # requests in flight in a worker
    timeout: float = 30.0  # seconds for a request
    keep_alive: float = 75.0  # seconds an idle connection is kept
    grace: float = 30.0  # seconds that requests in flight have when the server stops
    gather: int = 64  # requests that may share one call; 1 switches gathering off
    allow_reload: bool = False
    allow_host: tuple[str, ...] = ()  # names of this server, where no token is asked for
    token_file: str | None = None
    log: str = "requests"  # "requests", "problems" or "none"
    log_texts: bool = False
    folder: str | None = None  # what the processes share: copies of the models, counters

    trust: bool = False  # whether model files may name functions to import


def named(models: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Read NAME=PATH or PATH, whose name is the file's without its ending.

    >>> named(["runs/reviews.linnet", "spam=runs/model-7.linnet"])
    (('reviews', 'runs/reviews.linnet'), ('spam', 'runs/model-7.linnet'))
    """
    found: dict[str, str] = {}
    for item in models:
        name, equals, path = item.partition("=")
        if not equals or Path(item).exists():  # a path may hold the sign
            name, path = Path(item).name.removesuffix(".linnet"), item
        if not name or not path:
            raise LinnetError(f"a model is given as PATH or NAME=PATH, got '{item}'")
        if name in found:
            raise LinnetError(
                f"two models are called '{name}': {found[name]} and {path}; give one another name: NAME={path}"
            )
        found[name] = path
    return tuple(found.items())


def tokens(token_file: str | None) -> tuple[bytes, ...]:
    """Return the tokens that may be used: the lines of a file, or the variable LINNET_TOKEN; none: everybody may.

    Several lines are several tokens, so that a new one can be handed out before the old one is taken away.
    """
    if token_file is None:
        value = os.environ.get(TOKEN_VARIABLE)
        if value is not None and not value.strip():
            raise LinnetError(f"{TOKEN_VARIABLE} is set but empty; give it a token or unset it")
        lines = [value] if value is not None else []
    else:
        try:
            lines = Path(token_file).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise LinnetError(f"{token_file}: cannot read the token file ({error})") from error
        if not any(line.strip() for line in lines):
            raise LinnetError(f"{token_file}: the token file holds no token; write one on a line")
    found = tuple(line.strip().encode() for line in lines if line.strip())
    if any(b" " in token or b"\t" in token for token in found):
        raise LinnetError("a token must not hold blanks; make one with: openssl rand -hex 32")
    return found


# ---- What can be wrong with a request, as one exception: a status, a code for programs and a sentence for people.


CODES = {  # code: status
    "bad_json": 400,
    "bad_request": 400,
    "unauthorized": 401,
    "cross_site": 403,
    "unknown_host": 403,
    "not_found": 404,
    "unknown_label": 404,
    "unknown_model": 404,
    "method_not_allowed": 405,
    "too_slow": 408,
    "not_possible": 409,
    "reload_failed": 409,
    "too_large": 413,
    "not_json": 415,
    "invalid": 422,
    "head_too_large": 431,
    "internal": 500,
    "overloaded": 503,
    "timeout": 503,
    "stopping": 503,
}
CLOSING = (
    "too_large",
    "too_slow",
    "bad_request",
    "unauthorized",
    "cross_site",
    "unknown_host",
    "head_too_large",
    "overloaded",
)  # more of the body may be on its way


class RequestError(Exception):
    """A request that is refused.

    >>> RequestError("too_large", "a request may have 10 bytes").status
    413
    """

    def __init__(self, code: str, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = CODES[code]
        self._headers = headers

    def to_dict(self) -> dict[str, Any]:
        """Return what the client is sent."""
        return {"error": {"code": self.code, "message": self.message}}

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """The headers of the reply."""
        found = self._headers
        if self.status == 401:
            found += ((b"www-authenticate", b'Bearer realm="linnet"'),)
        if self.status == 503:
            found += ((b"retry-after", b"1"),)
        if self.code in CLOSING:
            found += ((b"connection", b"close"),)
        return found
