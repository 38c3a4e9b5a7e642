"""From settings to a server that listens."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from ital.engine import Engine, one_blas_thread
from ital.extras import needed_for
from ital.server.app import create_app
from ital.server.config import ServerSettings
from ital.server.connections import Connection
from ital.server.database import Database, default_file, sqlite_url
from ital.server.dependencies import Server
from ital.server.served import Served

_GRACE = 5
"""Seconds for requests under way when the server ends."""


def serve(
    folders: list[tuple[Path, Path | None]],
    settings: ServerSettings,
    index: bool = True,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve folders, each with the place of its collection if that is not in it, until stopped.

    ``ready`` is called with the address of the page, token and all, when the server listens.
    """
    # Searches have threads of their own, on which those of BLAS would only spin beside them.
    with _listen(settings) as listener, one_blas_thread():
        database = Database(settings.database or sqlite_url(default_file()))
        engine = None if settings.ray is None else _cluster(settings.ray)
        served = [Served(folder, to, engine, settings.stacks) for folder, to in folders]
        # Before the indexers: FastAPI silences warnings while it reads our types, and another
        # thread that does the same, as imports do, would take that silence away.
        program = _Uvicorn(Server(settings, served, database))
        if index:
            for one in served:
                one.start()
        ready(_address(settings, listener.getsockname()[1]))
        program.run([listener])


def _cluster(address: str) -> Engine:
    with needed_for("a server with a cluster"):
        from ital.engine.cluster import RayEngine
    return RayEngine(address)


def _listen(settings: ServerSettings) -> socket.socket:
    """A socket at the address; at another port, if nobody asked for this one and it is taken."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    both = settings.host == "::" and socket.has_dualstack_ipv6()
    ports = [settings.port] if "port" in settings.model_fields_set else [settings.port, 0]
    for port in ports:
        try:
            return socket.create_server((settings.host, port), family=family, dualstack_ipv6=both)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or port == ports[-1]:
                raise
    raise AssertionError("there is always a port to try")


class _Uvicorn(uvicorn.Server):
    """Ends streams when it is to end, which would keep it waiting otherwise."""

    def __init__(self, server: Server) -> None:
        config = uvicorn.Config(
            create_app(server),
            http=Connection,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=server.settings.idle_seconds,
            timeout_graceful_shutdown=_GRACE,
        )
        super().__init__(config)
        self._ital = server

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ital.stopping.set()
        await super().shutdown(sockets)


def _address(settings: ServerSettings, port: int) -> str:
    wild = settings.host in ("0.0.0.0", "::")
    host = socket.gethostname() if wild else settings.host
    name = f"[{host}]" if ":" in host else host
    token = settings.token
    query = "" if token is None else f"?token={token.get_secret_value()}"
    return f"http://{name}:{port}/{query}"
