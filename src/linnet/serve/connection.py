"""One connection: uvicorn's, with limits on the head of a request, which may be neither too long nor too slow."""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from linnet.serve.browsers import ALWAYS, NOTHING
from linnet.serve.errors import RequestError

__all__ = ["Connection"]

MAX_HEAD_BYTES = 1 << 16
MAX_HEAD_SECONDS = 10.0


class Connection(HttpToolsProtocol):
    """Bytes to ASGI messages and back."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._reading_head = True
        self._head_bytes = 0
        self._timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for a head."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(MAX_HEAD_SECONDS, self._timed_out)

    def data_received(self, data: bytes) -> None:
        """Read on; count the bytes of a head that is not complete yet."""
        super().data_received(data)
        if not self._reading_head or self.transport.is_closing():
            return
        self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(RequestError("head_too_large", f"the head of a request may have {MAX_HEAD_BYTES:,} bytes"))
        elif self._timer is None:
            self._timer = self.loop.call_later(MAX_HEAD_SECONDS, self._timed_out)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._reading_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._reading_head = False
        self._stop_timer()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has left."""
        self._stop_timer()
        super().connection_lost(exc)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _timed_out(self) -> None:
        self._timer = None
        if self._reading_head and not self.transport.is_closing():
            late = f"the head of the request did not arrive in {MAX_HEAD_SECONDS:g} seconds"
            self._refuse(RequestError("too_slow", late))

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(RequestError("bad_request", "this is not a valid HTTP request"))

    def _refuse(self, refused: RequestError) -> None:
        """Send a refusal and close; what cannot be read has no end from which one could go on."""
        body = orjson.dumps(refused.to_dict())
        fields = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            *ALWAYS,
            *NOTHING,
            *refused.headers,
        ]
        head = b"".join(b"%s: %s\r\n" % pair for pair in fields)
        self.transport.write(STATUS_LINE[refused.status] + head + b"\r\n" + body)
        self.transport.close()
