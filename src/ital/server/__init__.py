"""The server: collections and searches over HTTP, and the page."""

from ital.server.app import create_app
from ital.server.config import ServerSettings
from ital.server.database import Database
from ital.server.dependencies import Server
from ital.server.serve import serve
from ital.server.served import ServedCollection

__all__ = ["Database", "ServedCollection", "Server", "ServerSettings", "create_app", "serve"]
