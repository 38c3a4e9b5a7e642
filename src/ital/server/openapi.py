"""The OpenAPI document, for the page and for other programs: `python -m ital.server.openapi`."""

from __future__ import annotations

import json
from typing import Any

from ital.server.app import create_app
from ital.server.config import ServerSettings
from ital.server.database import Database
from ital.server.dependencies import Server


def document() -> dict[str, Any]:
    """The API as it is, without a server."""
    server = Server(ServerSettings(), [], Database("sqlite://"))
    content = create_app(server).openapi()
    # Versions come and go without the API changing.
    content["info"]["version"] = "1"
    server.close()
    return content


if __name__ == "__main__":
    print(json.dumps(document(), indent=1))
