"""Accepting connections so that workers share them.

Left alone, an event loop accepts all connections that wait on a socket at once: of several workers, the first to wake up takes
them all, keeps them for as long as they live, and the others are idle. Here a worker takes one, serves what it has, and
comes back; a busy one comes back later and so takes fewer.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn

__all__ = ["Server"]


class Server(uvicorn.Server):
    """uvicorn's server with an acceptor of its own, and without its signals."""

    def __init__(self, config: uvicorn.Config, listening: socket.socket) -> None:
        super().__init__(config)
        self._listening = listening
        self._opening: set[asyncio.Task[Any]] = set()

    async def run_until_told(self) -> None:
        """Serve until ``should_exit`` is set and requests in flight are answered."""
        await self._serve([])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept."""
        await super().startup(sockets)
        asyncio.get_running_loop().add_reader(self._listening.fileno(), self._accept)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more; what waits is left to others, and what is being opened is served."""
        asyncio.get_running_loop().remove_reader(self._listening.fileno())
        self._listening.close()
        if self._opening:
            await asyncio.wait(self._opening)
        await super().shutdown(sockets)

    def _accept(self) -> None:
        try:
            connection, _ = self._listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):  # another worker was quicker
            return
        except OSError:  # no descriptors left: it waits until there are some
            return
        connection.setblocking(False)
        if connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._open(loop, connection))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
        try:
            await loop.connect_accepted_socket(self._protocol, connection)
        except OSError:  # gone again
            connection.close()

    def _protocol(self) -> asyncio.Protocol:
        config: Any = self.config
        made: asyncio.Protocol = config.http_protocol_class(
            config=config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made
