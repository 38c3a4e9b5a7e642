"""The server: collections and searches over HTTP, and the page."""

from ital.server.app import create_app
from ital.server.config import ServerSettings
from ital.server.serve import serve
from ital.server.shared import Server

__all__ = ["Server", "ServerSettings", "create_app", "serve"]
