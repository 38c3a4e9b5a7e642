"""Servers for tests, as processes of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import httpx

API = "/api/v1"
PICTURES = 40
"""In the collection that is served."""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def change(state, **more):
    return {"revision": state["revision"], "key": f"key-{state['revision']}", **more}


def answers(state, **said):
    return change(state, answers={name.removeprefix("p"): one for name, one in said.items()})


def post(client, state, what, **more):
    response = client.post(f"{API}/searches/{state['id']}/{what}", json=change(state, **more))
    assert response.status_code == 200, response.text
    return response.json()


def finished(client, url):
    """A collection, when its indexer has ended."""
    for _ in range(600):
        info = client.get(url).json()
        if not info["indexing"]["running"]:
            return info
        time.sleep(0.05)
    raise AssertionError("the indexer does not end")


class Process:
    """`ital serve` as a process."""

    def __init__(self, folder: Path, *options: object, url: str = "http://127.0.0.1") -> None:
        self.port = free_port()
        self.url = f"{url}:{self.port}"
        program = Path(sys.executable).with_name("ital")
        command = [program, "serve", folder, "--port", self.port]
        self.command = [str(part) for part in (*command, *options)]
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> Process:
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for _ in range(2400):
            try:
                if httpx.get(f"{self.url}/healthz").status_code == 200:
                    return self
            except httpx.TransportError:
                assert self.process.poll() is None, self.process.stdout.read()
                time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.communicate()

    def stop(self) -> str:
        assert self.process is not None
        self.process.terminate()
        output, _ = self.process.communicate(timeout=30)
        return output


class Phoenix:
    """A server that can be killed and started again many times."""

    def __init__(self, folder: Path, *options: object) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        script = Path(__file__).with_name("zygote.py")
        command = [sys.executable, script, folder, "--port", port, *options]
        self._zygote = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._child = 0

    def start(self) -> None:
        self._zygote.stdin.write("\n")
        self._zygote.stdin.flush()
        line = ""
        while not line.strip().isdigit():  # between the numbers, servers say where they are
            line = self._zygote.stdout.readline()
            assert line, "the zygote has died"
        self._child = int(line)
        for _ in range(6000):
            with suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/healthz").status_code == 200:
                    return
            time.sleep(0.01)
        raise AssertionError("the server does not answer")

    def kill(self) -> None:
        os.kill(self._child, signal.SIGKILL)

    def end(self) -> None:
        self._zygote.stdin.close()
        with suppress(ProcessLookupError):
            self.kill()
        self._zygote.wait()
        self._zygote.stdout.close()
