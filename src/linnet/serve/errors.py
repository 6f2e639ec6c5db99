"""What can be wrong with a request, as one exception: a status, a code for programs and a sentence for people."""

from __future__ import annotations

from typing import Any

__all__ = ["CODES", "RequestError"]

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
