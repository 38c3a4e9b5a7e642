"""The application: the API, the page, and who may come in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI, Response
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from ital.server.dependencies import Server
from ital.server.logs import RequestLog
from ital.server.metrics import PICTURES, REGISTRY
from ital.server.problems import add_problems
from ital.server.routes import api
from ital.server.security import Guard

PAGE = Path(__file__).with_name("page")
"""The built page, which the wheel contains."""

_THREADS = 200
"""Many may wait for their turn at a search, and pictures must not wait behind them."""


def create_app(server: Server) -> FastAPI:
    """The application for some collections."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        del app
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        yield
        server.stopping.set()
        await asyncio.to_thread(server.close)

    app = FastAPI(
        title="ital",
        version=version("ital"),
        summary="Find all the images that you mean, from one example and a few answers.",
        lifespan=lifespan,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.server = server
    app.include_router(api)

    @app.get("/healthz", tags=["server"])
    async def health() -> dict[str, str]:
        """Whether the server is there."""
        return {"status": "ok"}

    @app.get("/metrics", tags=["server"], response_class=Response)
    def metrics() -> Response:
        """Figures for Prometheus."""
        for served in server.served.values():
            PICTURES.labels(served.id, served.name).set(
                0 if served.current is None else len(served.current)
            )
        return Response(generate_latest(REGISTRY), media_type=CONTENT_TYPE_LATEST)

    add_problems(app, server.searches)
    if PAGE.is_dir():
        # Not mounted: it would answer for all that there is but cannot be done.
        app.router.default = StaticFiles(directory=PAGE, html=True)
    app.add_middleware(Guard, settings=server.settings)
    app.add_middleware(RequestLog)
    return app
