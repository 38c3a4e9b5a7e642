"""A small hub on loopback, with the paths, redirects, ranges and ETags of the real one; a proxy."""

from __future__ import annotations

import hashlib
import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

REVISION = "0123456789abcdef0123456789abcdef01234567"


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    method: str
    path: str
    headers: dict[str, str]


@dataclass
class Hub:
    """Files of a repository. Large ones are elsewhere, as on the real hub: it redirects to them."""

    files: dict[str, bytes]
    repository: str = "someone/tiny"
    address: str = ""
    storage: str = ""
    """Where large files are."""
    requests: list[Request] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    """What to answer instead, one request after the other."""
    cuts: list[int] = field(default_factory=list)
    """After how many bytes to hang up, one answer after the other."""
    sent: dict[str, bytes] = field(default_factory=dict)
    """What to send instead of a file, with the headers of the file itself."""
    ranges: bool = True
    plain: bool = False
    """Whether it answers like any other web page."""
    silent: bool = False
    """Whether it sends nothing of large files."""

    def asked(self, word: str) -> list[Request]:
        return [one for one in self.requests if word in one.path]


def git_sha1(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class _Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()


class _Handler(_Quiet):
    hub: Hub

    def do_GET(self) -> None:
        hub = self.hub
        headers = {name.lower(): value for name, value in self.headers.items()}
        hub.requests.append(Request(self.command, self.path, headers))
        if self.path.startswith("/storage/"):
            self._send_large(self.path.removeprefix("/storage/"))
            return
        place = f"/{hub.repository}/resolve/{REVISION}/"
        content = hub.files.get(self.path.removeprefix(place))
        about = {"X-Repo-Commit": REVISION}
        if hub.statuses:
            status = hub.statuses.pop(0)
            self._reply(status, {"X-Error-Message": "no"} if status == 401 else {})
        elif hub.plain:
            self._reply(200, {"Content-Type": "text/html"}, b"<p>Please log in.</p>")
        elif not self.path.startswith(place) or content is None:
            self._reply(404, {**about, "X-Error-Code": "EntryNotFound"})
        elif self.path.endswith(".onnx"):
            name = self.path.removeprefix(place)
            about |= {"X-Linked-Etag": f'"{sha256(content)}"', "X-Linked-Size": str(len(content))}
            self._reply(302, {**about, "Location": f"{hub.storage}/storage/{name}"})
        else:
            sent = hub.sent.get(self.path.removeprefix(place), content)
            self._reply(200, {**about, "ETag": f'"{git_sha1(content)}"'}, sent)

    def _send_large(self, name: str) -> None:
        content = self.hub.sent.get(name, self.hub.files[name])
        start, status, about = 0, 200, {}
        if "Range" in self.headers and self.hub.ranges:
            start, status = int(self.headers["Range"][len("bytes=") : -1]), 206
            about["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self._reply(status, about, content[start:])

    def _reply(self, status: int, headers: dict[str, str], content: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.path.startswith("/storage/"):
            if self.hub.silent:
                self.close_connection = True
                self.rfile.read(1)  # until the other side hangs up
                return
            if self.hub.cuts:
                content = content[: self.hub.cuts.pop(0)]
                self.close_connection = True
        with suppress(ConnectionError):
            self.wfile.write(content)


class _Proxy(_Quiet):
    """Passes requests on to one server, whatever name they are for."""

    target: str
    seen: list[str]

    def do_GET(self) -> None:
        self.seen.append(self.path)
        server = http.client.HTTPConnection(urlsplit(self.target).netloc)
        given = {name: value for name, value in self.headers.items() if name != "Connection"}
        server.request(self.command, urlsplit(self.path).path, headers=given)
        answer = server.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding"):
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        server.close()


@contextmanager
def _serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Hub]:
    """A hub, and in a second server its storage."""
    hub = Hub(files)
    handler = type("Handler", (_Handler,), {"hub": hub})
    with _serving(handler) as hub.address, _serving(handler) as hub.storage:
        yield hub


@contextmanager
def proxying(target: str) -> Iterator[tuple[str, list[str]]]:
    """The address of a proxy, and what it was asked for."""
    seen: list[str] = []
    with _serving(type("Proxy", (_Proxy,), {"target": target, "seen": seen})) as address:
        yield address, seen
