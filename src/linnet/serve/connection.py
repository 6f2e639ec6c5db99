"""One connection: uvicorn's, with bounds on the head of a request. A head that is endless or never ends is cut off."""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["Connection"]

LONGEST_HEAD = 1 << 16  # bytes
SLOWEST_HEAD = 10.0  # seconds


class Connection(HttpToolsProtocol):
    """Bytes to ASGI messages and back."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._reading_head = True
        self._head_bytes = 0
        self._head_timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin; who connects and says nothing is sent away."""
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(SLOWEST_HEAD, self._cut)

    def data_received(self, data: bytes) -> None:
        """Read on; count what comes before the head is complete."""
        super().data_received(data)
        if not self._reading_head or self.transport.is_closing():
            return
        self._head_bytes += len(data)
        if self._head_bytes > LONGEST_HEAD:
            self._say(b"431 Request Header Fields Too Large", b"the head of the request is too long")
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(SLOWEST_HEAD, self._cut)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._reading_head = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._reading_head = False
        self._unset_timer()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side has gone."""
        self._unset_timer()
        super().connection_lost(exc)

    def _unset_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _cut(self) -> None:
        self._head_timer = None
        if self._reading_head and not self.transport.is_closing():
            self._say(b"408 Request Timeout", b"the head of the request did not arrive in time")

    def _say(self, status: bytes, why: bytes) -> None:
        head = b"HTTP/1.1 %s\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(head % (status, len(why)) + why)
        self.transport.close()
