"""To a Ray cluster, or to a Ray of our own."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager

import ray
from ray.exceptions import RayError

from ital.engine.threads import cores

OWN = "local"
"""The address that stands for a Ray of our own on this machine."""

_PATIENCE = 10.0
"""Seconds in which somebody has to answer at an address."""

_ATTEMPTS = "RAY_gcs_server_port_wait_time_s"
"""What tells Ray how often to try to connect, and how long to wait for a Ray that it starts."""


def connect(address: str, processors: int | None = None) -> None:
    """Connect to the cluster at an address, or start a Ray of our own with so many processors.

    Whoever is connected already stays so.
    """
    if ray.is_initialized():
        return
    reach(address)
    try:
        with _started_at_once() if address == OWN else _one_attempt():
            ray.init(
                address,
                num_cpus=processors or cores() if address == OWN else None,
                include_dashboard=False,
                log_to_driver=False,  # what workers have to say comes back as results and errors
                logging_level=logging.ERROR,
            )
    except (OSError, RayError, RuntimeError, ValueError) as error:
        raise _no_cluster(address, first_line(error)) from error


@contextmanager
def connection(address: str, processors: int | None = None) -> Iterator[None]:
    """A connection that ends with whoever made it; what fails on the way is raised as it was.

    Of somebody who was connected already it is theirs, and stays.
    """
    ours = not ray.is_initialized()
    connect(address, processors)
    try:
        yield
    except RayError as error:
        cause = getattr(error, "cause", error)  # what a task raised, if it was not Ray that failed
        if not isinstance(cause, RayError):
            raise cause from error
        raise BrokenExecutor(f"the cluster failed ({first_line(cause)})") from error
    finally:
        if ours:
            ray.shutdown()


def processors() -> int:
    """Processors of the cluster that this process is connected to."""
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(resources.get("CPU", 1)))


def reach(address: str) -> None:
    """Refuse HOST:PORT if nobody answers there; other addresses are for Ray to look up."""
    place = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address
    host, _, port = place.rpartition(":")
    if not port.isdecimal() or "/" in host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, f"nobody answers at {place} ({error})") from error


def first_line(error: Exception) -> str:
    """What an error says, in short."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _no_cluster(address: str, why: str) -> ValueError:
    return ValueError(
        f"ray must be {OWN!r}, or the address of a Ray cluster that runs, got {address!r}: {why}. "
        "'ray start --head' starts one and says its HOST:PORT; one that wants a token needs "
        "RAY_AUTH_MODE=token here"
    )


@contextmanager
def _started_at_once() -> Iterator[None]:
    """Leave out what libraries say of forks: those by which Ray starts programs end at once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*fork")
        yield


@contextmanager
def _one_attempt() -> Iterator[None]:
    """Have Ray give up on a cluster after 40 seconds, and not 20 times as many."""
    given = os.environ.get(_ATTEMPTS)
    os.environ[_ATTEMPTS] = given or "1"
    try:
        yield
    finally:
        if given is None:
            del os.environ[_ATTEMPTS]
