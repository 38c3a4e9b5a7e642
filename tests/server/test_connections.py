"""Connections, on real sockets."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, suppress

import httpx
import numpy as np
import pytest
from making import draw
from PIL import Image
from serving import API

from ital.collection import index


def test_answers_are_not_held_back(listen):
    """Until the client has acknowledged their beginning, which it is in no hurry to do."""
    with listen() as (running, address), socket.create_connection(address):
        while not running.server_state.connections:
            time.sleep(0.01)
        (one,) = running.server_state.connections
        accepted = one.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


def is_hung_up_on(one: socket.socket) -> bool:
    one.settimeout(30)
    with suppress(ConnectionError):
        while one.recv(65536):
            pass
    return True


class TestTheSilent:
    @pytest.mark.parametrize(
        "said",
        [
            b"",
            HEAD,
            b"PATCH /api/v1/searches/x HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
        ],
        ids=["nothing", "half a head", "half a body"],
    )
    def test_are_not_waited_for(self, listen, said, caplog):
        with listen(idle_seconds=1) as (running, address):
            with socket.create_connection(address) as one:
                one.sendall(said)
                assert is_hung_up_on(one)
            with socket.create_connection(address) as one:
                one.sendall(HEAD + b"\r\n")
                assert one.recv(65536).startswith(b"HTTP/1.1 200")
                one.sendall(said[:10])  # a second request comes no further
                assert is_hung_up_on(one)
            while running.server_state.connections:
                time.sleep(0.01)
        assert "Traceback" not in caplog.text

    def test_nor_those_who_never_finish(self, listen):
        """A header more every now and then."""
        with listen(idle_seconds=1) as (_, address), socket.create_connection(address) as one:
            one.sendall(HEAD)
            done = threading.Event()

            def drip() -> None:
                with suppress(OSError):
                    while not done.wait(0.2):
                        one.sendall(b"X-More: and more\r\n")

            thread = threading.Thread(target=drip)
            thread.start()
            try:
                assert is_hung_up_on(one)
            finally:
                done.set()
                thread.join()

    def test_those_who_listen_are_no_such(self, listen, tmp_path):
        """Nor those who take their time over a large picture, as long as it comes."""
        draw(tmp_path / "pictures" / "a.png", 0)
        index(tmp_path / "pictures")
        with listen(tmp_path / "pictures", idle_seconds=3) as (_, (host, port)):
            url = f"http://{host}:{port}{API}/collections"
            collection = httpx.get(url).json()[0]["id"]

            def slowly():
                for _ in range(16):
                    time.sleep(0.25)
                    yield b"no picture"

            with httpx.stream("GET", f"{url}/{collection}/events", timeout=30) as stream:
                lines = stream.iter_lines()
                assert next(lines).startswith("data:")
                sent = httpx.post(f"{url}/{collection}/uploads", content=slowly(), timeout=30)
                assert sent.status_code == 415
                draw(tmp_path / "pictures" / "b.png", 1)
                httpx.post(f"{url}/{collection}/index")
                assert any(line.startswith("data:") for line in lines)

    def test_nor_those_who_never_read(self, listen, tmp_path):
        """What they asked for would fill the memory, or their place is missing to others."""
        noise = np.random.default_rng(0).integers(0, 256, (3000, 3000, 3), np.uint8)
        (tmp_path / "pictures").mkdir()
        Image.fromarray(noise).save(tmp_path / "pictures" / "large.bmp")  # 27 MB
        index(tmp_path / "pictures")
        with listen(tmp_path / "pictures", idle_seconds=1) as (running, address):
            url = f"http://{address[0]}:{address[1]}{API}/collections"
            collection = httpx.get(url).json()[0]["id"]
            path = f"{API}/collections/{collection}/pictures/1/original"
            with socket.create_connection(address) as one:
                one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                assert one.recv(1000).startswith(b"HTTP/1.1 200")
                while running.server_state.connections:
                    time.sleep(0.05)

    def test_make_room(self, listen, monkeypatch):
        """For those who say something, however many they are."""
        monkeypatch.setattr("ital.server.connections._MOST", 8)
        with listen() as (running, address), ExitStack() as stack:
            silent = [stack.enter_context(socket.create_connection(address)) for _ in range(20)]
            for _ in range(10):
                one = stack.enter_context(socket.create_connection(address))
                one.sendall(HEAD + b"\r\n")
                assert one.recv(65536).startswith(b"HTTP/1.1 200")
            assert all(is_hung_up_on(one) for one in silent)
            assert len(running.server_state.connections) <= 9
