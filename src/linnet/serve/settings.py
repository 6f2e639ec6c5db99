"""The settings of a server, what it refuses, and what it asks of browsers. One value that every worker gets."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import os
import re
import socket
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

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
    folder: str = ""  # what the processes share: copies of the models, counters
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


def listen(host: str, port: int, advice: str) -> socket.socket:
    """Return a socket that listens on a port, a free one for 0."""
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(2048)
    except OSError as error:
        found.close()
        raise LinnetError(f"cannot listen on {host}:{port} ({error.strerror or error}); {advice}") from error
    found.setblocking(False)
    return found


def tokens(token_file: str | None) -> tuple[bytes, ...]:
    """Return the tokens that may be used: the lines of a file, or the variable LINNET_TOKEN; none: everybody may.

    Several lines are several tokens, so that a new one can be handed out before the old one is taken away.
    """
    if token_file is None:
        lines = [os.environ[TOKEN_VARIABLE]] if TOKEN_VARIABLE in os.environ else []
        if lines and not lines[0].strip():
            raise LinnetError(f"{TOKEN_VARIABLE} is set but empty; give it a token or unset it")
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


STATUSES: dict[int, tuple[str, ...]] = {  # their codes
    400: ("bad_json", "bad_request"),
    401: ("unauthorized",),
    403: ("cross_site", "unknown_host"),
    404: ("not_found", "unknown_label", "unknown_model"),
    405: ("method_not_allowed",),
    408: ("too_slow",),
    409: ("not_possible", "reload_failed"),
    413: ("too_large",),
    415: ("not_json",),
    422: ("invalid",),
    431: ("head_too_large",),
    500: ("internal",),
    503: ("overloaded", "timeout", "stopping"),
}
CODES = {code: status for status, codes in STATUSES.items() for code in codes}
# After these the connection is closed: more of the body may be on its way.
CLOSING: set[str | int] = {"bad_request", "overloaded", 401, 403, 408, 413, 431}


Fields = tuple[tuple[bytes, bytes], ...]
ALWAYS: Fields = ((b"x-content-type-options", b"nosniff"), (b"x-frame-options", b"DENY"))
NOTHING: Fields = ((b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),)


def head_fields(body: bytes, content_type: bytes, headers: Fields) -> Fields:
    """Return all headers of a reply."""
    return ((b"content-type", content_type), (b"content-length", b"%d" % len(body)), *ALWAYS, *headers)


MORE: dict[int, Fields] = {401: ((b"www-authenticate", b'Bearer realm="linnet"'),), 503: ((b"retry-after", b"1"),)}


class RequestError(Exception):
    """A request that is refused.

    >>> RequestError("too_large", "a request may have 10 bytes").status
    413
    """

    def __init__(self, code: str, message: str, headers: Fields = ()) -> None:
        super().__init__(message)
        self.code, self.status = code, CODES[code]
        self.headers = (*NOTHING, *headers, *MORE.get(self.status, ()))
        if CLOSING & {code, self.status}:
            self.headers += ((b"connection", b"close"),)

    @property
    def body(self) -> bytes:
        """What the client is sent."""
        return json.dumps({"error": {"code": self.code, "message": str(self)}}, separators=(",", ":")).encode()


# ---- What browsers are told with every answer, and what is asked of a browser where there is no token.
#
# A page of another site that is open in the same browser can send requests to this server. With a token that is harmless: the
# page does not know it. Without, a request is refused that comes from another site, and one for a host name that the server
# was not told of: a name that resolves to 127.0.0.1 would make the other site the same site (DNS rebinding).


def page_policy(page: str) -> Fields:
    """Return the policy of a page: its own scripts and styles, by their hashes, and requests to this server.

    >>> page_policy("<script>1</script>")[0][1][:60]
    b"default-src 'none'; script-src 'sha256-a4ayc/80/OGda4BO/1o/V"
    """
    script, style = _hashes(page, "script"), _hashes(page, "style")
    rules = (
        f"default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )
    return ((b"content-security-policy", rules.encode()), (b"referrer-policy", b"no-referrer"))


def _hashes(page: str, tag: str) -> str:
    inside = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in inside]
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"


def check_browser(
    scope: MutableMapping[str, Any], headers: Mapping[bytes, bytes], settings: Settings, *, changes: bool
) -> None:
    """Refuse what another site may have sent. A program that is no browser sends none of these headers.

    The name of the host is checked where the server is for this machine only, and for requests that change something: on
    other addresses it has many names, and everybody who can reach it may ask.
    """
    given = headers.get(b"host")
    if given is not None and (changes or is_loopback(settings.host)):
        name = _address(b"http://" + given)[0]
        local = (scope.get("server") or ("",))[0]
        if name is None or not (name in {*settings.allow_host, settings.host, local} or is_loopback(name)):
            shown = given[:60].decode("latin-1")
            raise RequestError(
                "unknown_host", f"this server was not told that it is {shown!r}; --allow-host NAME does, or a token"
            )
    if scope["method"] == "POST" and _is_foreign(headers, settings):
        raise RequestError(
            "cross_site", "requests from pages of other sites are refused; with a token they are answered"
        )


def _is_foreign(headers: Mapping[bytes, bytes], settings: Settings) -> bool:
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site is not None:
        return site not in (b"same-origin", b"none")
    if origin is None:
        return False
    sent = _address(origin)  # the scheme may be that of a proxy
    return sent != _address(b"http://" + headers.get(b"host", b"")) and sent[0] not in settings.allow_host


def is_loopback(name: str) -> bool:
    """Whether a name always means this machine.

    >>> [is_loopback(name) for name in ("localhost", "127.0.0.1", "::1", "localhost.evil.example", "0.0.0.0")]
    [True, True, True, False, False]
    """
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _address(url: bytes) -> tuple[str | None, int | None]:
    """Return the name and the port of an address."""
    try:
        found = urlsplit(url.decode("ascii"))
        return found.hostname, found.port
    except ValueError:  # UnicodeDecodeError is one
        return None, None
