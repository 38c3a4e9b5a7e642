"""Connections: without delay for those who ask, and not for ever for those who do not."""

from __future__ import annotations

import asyncio
import socket

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_MOST = 500
"""Connections at once: fewer than the files that a process may have open."""


class Connection(H11Protocol):
    """A connection that is not kept for a client who keeps us waiting."""

    _patience: asyncio.TimerHandle
    _stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # An answer is written in two parts. The second would wait until the client acknowledges
        # the first, and clients put that off.
        connected = transport.get_extra_info("socket")
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wait()
        others = [
            one
            for one in self.connections
            if isinstance(one, Connection) and not one.transport.is_closing()
        ]
        if len(others) > _MOST:
            silent = [one for one in others if one.conn.their_state is h11.IDLE]
            min(silent, key=lambda one: one._patience.when()).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.SEND_BODY:
            self._wait_anew()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait_anew()

    def pause_writing(self) -> None:
        """The client does not read what it asked for; if it never does, it is in the way."""
        super().pause_writing()
        self._stuck = self.loop.call_later(self.timeout_keep_alive, self.transport.abort)

    def resume_writing(self) -> None:
        self._go_on()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._patience.cancel()
        self._go_on()
        super().connection_lost(exc)

    def _go_on(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()

    def _wait_anew(self) -> None:
        self._patience.cancel()
        self._wait()

    def _wait(self) -> None:
        """For a whole head, however its parts come, or for some more of a body."""
        self._patience = self.loop.call_later(self.timeout_keep_alive, self._hang_up)

    def _hang_up(self) -> None:
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self.transport.close()
