"""Servers for tests, as processes of their own."""

from __future__ import annotations

import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
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


def counted(client, state):
    """The search, and where it stands."""
    return client.get(f"{API}/searches/{state['id']}").json()


def finished(client, url):
    """A collection, when its indexer has ended."""
    for _ in range(600):
        info = client.get(url).json()
        if not info["indexing"]["running"]:
            return info
        time.sleep(0.05)
    raise AssertionError("the indexer does not end")


def wait_for(url: str, death: Callable[[], str | None] = lambda: None) -> None:
    """Until a server answers, or ``death`` tells what it has died of."""
    with quick_client() as client:
        for _ in range(6000):
            with suppress(httpx.TransportError):
                if client.get(f"{url}/healthz").status_code == 200:
                    return
            last_words = death()
            assert last_words is None, last_words
            time.sleep(0.02)
    raise AssertionError("the server does not answer")


def quick_client(**options: object) -> httpx.Client:
    """One that reads no certificates, which takes longer than most requests."""
    return httpx.Client(verify=False, timeout=20, **options)


# For single requests. It keeps no connection: servers come and go.
web = quick_client(limits=httpx.Limits(max_keepalive_connections=0))


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
        process = self.process
        wait_for(self.url, lambda: process.stdout.read() if process.poll() is not None else None)
        return self

    def stop(self) -> str:
        assert self.process is not None
        self.process.terminate()
        output, _ = self.process.communicate(timeout=30)
        return output


class Zygote:
    """The one process that all others come from: see zygote.py."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("zygote.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self._end)

    def ask(self, what: object) -> int:
        self._process.stdin.write(f"{json.dumps(what)}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the zygote has died"
        return int(line)

    def _end(self) -> None:
        self._process.communicate()


zygote = functools.cache(Zygote)


def begin_ital(arguments: list[str], output: str, errors: str) -> int:
    """Run a command of `ital`: the number of its process."""
    files = {"output": output, "errors": errors}
    return zygote().ask({"arguments": arguments, "environment": dict(os.environ)} | files)


def run_ital(*arguments: object) -> tuple[int, str]:
    """The exit code of a command, and what it says of errors."""
    with tempfile.NamedTemporaryFile() as errors:
        words = [str(one) for one in arguments]
        code = zygote().ask(begin_ital(words, os.devnull, errors.name))
        return code, errors.read().decode()


class Phoenix:
    """A server that starts at once, and can be killed and started again many times."""

    def __init__(self, folder: Path, *options: object, url: str = "http://127.0.0.1") -> None:
        self.port = free_port()
        self.url = f"{url}:{self.port}"
        self._arguments = [str(part) for part in ("serve", folder, "--port", self.port, *options)]
        self._output = tempfile.NamedTemporaryFile()  # noqa: SIM115  (closed with the server)
        self._child = 0

    @property
    def pid(self) -> int:
        return self._child

    def start(self) -> Phoenix:
        self._child = begin_ital(self._arguments, self._output.name, self._output.name)
        wait_for(self.url)
        return self

    def kill(self) -> None:
        self._leave(signal.SIGKILL)

    def stop(self) -> str:
        """End it as people do; what it has printed."""
        assert self._leave(signal.SIGTERM) in (0, -signal.SIGTERM)
        return self._output.read().decode()

    def end(self) -> None:
        """Leave nothing of it."""
        if self._child:
            self.kill()
        self._output.close()

    def _leave(self, by: signal.Signals) -> int:
        os.kill(self._child, by)
        code, self._child = zygote().ask(self._child), 0
        return code
