"""Who may come in: the names by which the server is called, where requests come from, a token."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import secrets
import socket
from collections import OrderedDict
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ital.server.config import ServerSettings

_OPEN = ("/healthz",)
"""What everyone may ask."""

_BODY = 1 << 20
"""Bytes that a request may have, but for uploads, which count their own."""

_SHORTEST, _LONGEST = 0.1, 3.2
"""Seconds that someone waits after a first wrong token, and after many."""

_PLACES = 1024
"""From where wrong tokens have come of late, so many are remembered."""

_log = logging.getLogger("ital.server")

_STREAMED = ("/events", "/export", "/dataset")
"""What would go on for long only to be thrown away."""

_UPLOADS = re.compile(
    r"/api/v1/(collections/[^/]+/(uploads|labels|searches)|searches/[^/]+/labels)"
)

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""With every answer: nothing is loaded from elsewhere, and nobody frames us."""


class Guard:
    """Refuses what comes by a foreign name, from a foreign page, or without the token."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app, self._settings = app, settings
        self._guesses = Guesses()
        self._names = {"localhost", *(name.lower() for name in settings.allowed_hosts)}
        if not settings.is_loopback:
            self._names |= {settings.host.lower(), socket.gethostname().lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["method"] == "HEAD" and not scope["path"].endswith(_STREAMED):
            # Whoever asks for the head is answered as if for all; the body is not sent.
            scope = {**scope, "method": "GET"}
        try:
            await (await self._refusal(scope) or self._app)(scope, receive, guarded)
        except Exception:
            _log.exception("%s %s failed", scope["method"], scope["path"])
            if begun:
                raise
            detail = "something went wrong here; the log of the server tells what"
            await _problem(500, detail)(scope, receive, guarded)

    async def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_ours(host):
            return _problem(421, "this server is not called by that name")
        origin = headers.get("origin")
        if origin is not None and _place(origin) != host.lower():
            return _problem(403, "requests from other pages are refused")
        if headers.get("sec-fetch-site") == "cross-site" and scope["path"].startswith("/api/"):
            return _problem(403, "requests from other pages are refused")
        token = self._settings.token
        if token is not None and scope["path"] not in _OPEN:
            refusal = await self._without_token(scope, headers, token.get_secret_value())
            if refusal is not None:
                return refusal
        if _UPLOADS.fullmatch(scope["path"]):
            return None
        if "transfer-encoding" in headers:
            return _problem(411, "the length of the request is needed")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18 or int(length) > _BODY:
            return _problem(413, f"a request may have {_BODY} bytes at the most")
        return None

    def _is_ours(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        # A page elsewhere can point a name of its own at us, but not an address.
        return address.is_loopback or not self._settings.is_loopback

    async def _without_token(self, scope: Scope, headers: Headers, token: str) -> Response | None:
        offered = ""
        if scope["path"] == "/" and scope["method"] == "GET":
            offered = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if _same(offered, token):
            # The link that was printed: from now on the browser has a cookie, and the address
            # that shows in it no longer holds the token.
            answer = RedirectResponse("/", 303)
            # The link may be in a message somewhere else, so that it is not "strict".
            answer.set_cookie(
                _cookie(scope), token, httponly=True, samesite="lax", max_age=31536000
            )
            return answer
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        bearer = bearer.strip() if kind.lower() == "bearer" else ""
        # Those of other servers on the machine come along, whatever they may look like.
        cookie = cookie_parser(headers.get("cookie", "")).get(_cookie(scope), "")
        if _same(bearer, token) or _same(cookie, token):
            return None
        if offered or bearer or cookie:
            await asyncio.sleep(self._guesses.delay(scope.get("client")))
        return _problem(401, "a token is needed: use the link that was printed when ital started")


class Guesses:
    """Wrong tokens, by where they came from: each has to be waited for longer than the last."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._counts)

    def delay(self, client: tuple[str, int] | None) -> float:
        """Seconds to wait for one more."""
        place = _network(client[0] if client else "")
        before = self._counts.pop(place, 0)
        self._counts[place] = before + 1
        if len(self) > _PLACES:
            self._counts.popitem(last=False)
        return float(min(_LONGEST, _SHORTEST * 2 ** min(before, 16)))


def _network(host: str) -> str:
    """An address, or what all the addresses have in common that one machine can have in IPv6."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped or ipaddress.ip_network((int(address), 64), strict=False))
    return host


def _cookie(scope: Scope) -> str:
    """A name for each port: browsers do not keep cookies of several servers on a machine apart."""
    return f"ital_token_{(scope.get('server') or ('', 0))[1]}"


def _place(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _same(offered: str, token: str) -> bool:
    return secrets.compare_digest(offered.encode(), token.encode())


def _problem(status: int, detail: str) -> Response:
    return JSONResponse({"detail": detail}, status)
