"""What browsers are told with every answer, and what is asked of a browser where there is no token.

A page of another site that is open in the same browser can send requests to this server. With a token that is harmless: the
page does not know it. Without, a request is refused that comes from another site, and one for a host name that the server
was not told of: a name that resolves to 127.0.0.1 would make the other site the same site (DNS rebinding).
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
from collections.abc import Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from linnet.serve.settings import RequestError, Settings

Fields = tuple[tuple[bytes, bytes], ...]
ALWAYS: Fields = ((b"x-content-type-options", b"nosniff"), (b"x-frame-options", b"DENY"))
NOTHING: Fields = ((b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),)


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
        name = _name(b"http://" + given)
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
    return (
        _authority(origin) != _authority(b"http://" + headers.get(b"host", b""))
        and _name(origin) not in settings.allow_host
    )


def is_loopback(name: str) -> bool:
    """Whether a name always means this machine.

    >>> [is_loopback(name) for name in ("localhost", "127.0.0.1", "::1", "localhost.evil.example", "0.0.0.0")]
    [True, True, True, False, False]
    """
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _name(address: bytes) -> str | None:
    try:
        return urlsplit(address.decode("ascii")).hostname
    except ValueError:  # UnicodeDecodeError is one
        return None


def _authority(address: bytes) -> str | None:
    """Return name and port; the scheme may be that of a proxy."""
    try:
        found = urlsplit(address.decode("ascii"))
        port = found.port
    except ValueError:
        return None
    return f"{found.hostname}:{port}" if found.hostname and port else found.hostname
