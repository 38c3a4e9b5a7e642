"""Who may come in: the names by which the server is called, where requests come from, a token."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ital.server.config import ServerSettings

COOKIE = "ital_token"
_OPEN = ("/healthz",)
"""What everyone may ask."""

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
        self._names = {"localhost", *(name.lower() for name in settings.allowed_hosts)}
        if not settings.is_loopback:
            self._names |= {settings.host.lower(), socket.gethostname().lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_ours(host):
            return _problem(421, "this server is not called by that name")
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return _problem(403, "requests from other pages are refused")
        if headers.get("sec-fetch-site") == "cross-site" and scope["path"].startswith("/api/"):
            return _problem(403, "requests from other pages are refused")
        token = self._settings.token
        if token is None or scope["path"] in _OPEN:
            return None
        return self._without_token(scope, headers, token.get_secret_value())

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

    def _without_token(self, scope: Scope, headers: Headers, token: str) -> Response | None:
        offered = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and scope["method"] == "GET" and _same(offered, token):
            # The link that was printed: from now on the browser has a cookie, and the address
            # that shows in it no longer holds the token.
            answer = RedirectResponse("/", 303)
            answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", max_age=31536000)
            return answer
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _same(bearer.strip(), token):
            return None
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            cookie = None
        if cookie is not None and _same(cookie.value, token):
            return None
        return _problem(401, "a token is needed: use the link that was printed when ital started")


def _same(offered: str, token: str) -> bool:
    return secrets.compare_digest(offered.encode(), token.encode())


def _problem(status: int, detail: str) -> Response:
    return JSONResponse({"detail": detail}, status)
