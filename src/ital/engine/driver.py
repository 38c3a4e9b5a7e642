"""The process that is connected to Ray, which Ray calls the driver.

Ray ends the process of a driver that has lost its cluster, without a word to Python. For labels not
to be lost with it, the driver is a process of its own. All that its end leaves here is an error.
"""

from __future__ import annotations

import atexit
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import ray
from ray.exceptions import RayError

from ital.engine.actors import Actors
from ital.engine.connection import connect, first_line, reach
from ital.engine.group import ClusterError
from ital.engine.messages import packed, receive, send

_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from ital.engine.driver import run; run()"

_SILENCE = {"RAY_gcs_rpc_server_reconnect_timeout_s": "30"}
"""How many seconds Ray waits for the head node of its cluster, before it ends the driver."""

_GRACE = 10.0
"""Seconds for the driver to take its leave of the cluster."""

_THREADS = 32
"""How many may ask the driver at once. They wait for actors, and do nothing themselves."""


class Driver:
    """This end of the driver: what can be asked of `Actors`, can be asked of it."""

    def __init__(self, address: str, processors: int | None) -> None:
        reach(address)
        self.address = address
        self._numbers = itertools.count()
        self._waiting: dict[int, Future[Any]] = {}
        self._dropped: list[int] = []
        self._gone: str | None = None
        self._lock = threading.Lock()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  (it is closed with the process)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=_SILENCE | os.environ,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout
        atexit.register(self.close)
        self._listener = threading.Thread(target=self._listen, name="ital-driver", daemon=True)
        self._listener.start()
        try:
            # Workers look for modules where Ray finds the program of the driver to be.
            self.ask("connect", sys.argv, address, processors)
        except BaseException:
            self.close()
            raise

    @property
    def runs(self) -> bool:
        return self._gone is None

    def ask(self, method: str, *args: Any) -> Any:
        """What a method of `Actors` gives."""
        reply: Future[Any] = Future()
        with self._lock:
            if self._gone is not None:
                raise ClusterError(self._gone)
            number = next(self._numbers)
            dropped, self._dropped = self._dropped, []
            message = packed((number, dropped, method, args))
            self._waiting[number] = reply
            try:
                send(self._requests, message)
            except BrokenPipeError:
                pass  # the listener will say why
            except BaseException:
                self._process.kill()  # it would take what comes next for the rest of this
                raise
        return reply.result()

    def drop(self, key: int) -> None:
        """Have a group forgotten, when there is something else to ask.

        The collector of garbage may call this at any moment, with whatever lock in its hands.
        """
        self._dropped.append(key)

    def close(self) -> None:
        """Take leave of the cluster; a Ray of our own ends."""
        atexit.unregister(self.close)
        with suppress(BrokenPipeError):
            self._requests.close()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._listener.join()

    def _listen(self) -> None:
        with suppress(EOFError):
            while True:
                number, failed, value = receive(self._replies)
                reply = self._waiting.pop(number)
                if failed:
                    reply.set_exception(value)
                else:
                    reply.set_result(value)
        code = self._process.wait()
        with self._lock:
            self._gone = (
                f"the cluster at {self.address} is gone: the process that was connected to it has "
                f"ended (exit code {code}{self._last_words()}). What was said to searches is safe "
                "with them"
            )
            for reply in self._waiting.values():
                reply.set_exception(ClusterError(self._gone))
            self._replies.close()
            self._said.close()

    def _last_words(self) -> str:
        """What Ray said of errors at the end, which may be nothing."""
        self._said.seek(0)
        text = self._said.read().decode(errors="replace")
        said = re.findall(r"^\[.+? E \d+ \d+\] \S+ (\w.+?)(?:\. |\.?$)", text, re.MULTILINE)
        return f": {said[-1]}" if said else ""


def run() -> None:
    """Be the driver, until whoever started it ends or closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is not the one that is interrupted
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no reply
    actors, lock = Actors(), threading.Lock()

    def answer(number: int, method: str, args: tuple[Any, ...]) -> None:
        try:
            reply = number, False, getattr(actors, method)(*args)
        except RayError as error:
            reply = number, True, ClusterError(f"the cluster failed: {first_line(error)}")
        except Exception as error:
            reply = number, True, error
        message = packed(reply)
        with lock:
            send(replies, message)

    threads = ThreadPoolExecutor(_THREADS)
    try:
        number, _, _, (sys.argv, address, processors) = receive(requests)
        try:
            connect(address, processors)
        except ValueError as error:
            send(replies, packed((number, True, error)))
        else:
            send(replies, packed((number, False, None)))
        while True:
            number, dropped, method, args = receive(requests)
            actors.drop(dropped)
            threads.submit(answer, number, method, args)
    except EOFError:
        ray.shutdown()
    os._exit(0)  # threads may wait for what will never come
