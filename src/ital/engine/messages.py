"""Messages between two processes, through pipes."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from typing import IO, Any

from ray import cloudpickle


def pickled(something: Any, aside: Callable[[pickle.PickleBuffer], None] | None = None) -> bytes:
    """With what was defined in a script or a notebook; ``aside`` takes arrays, uncopied."""
    data: bytes = cloudpickle.dumps(  # type: ignore[no-untyped-call]
        something, protocol=5, buffer_callback=aside
    )
    return data


def packed(message: Any) -> list[memoryview]:
    """A message as it is sent: how many parts, how long each is, and the parts."""
    arrays: list[pickle.PickleBuffer] = []
    data = pickled(message, arrays.append)
    parts = [memoryview(data), *(one.raw() for one in arrays)]
    numbers = [len(parts), *(len(part) for part in parts)]
    return [memoryview(struct.pack(f"<{len(numbers)}Q", *numbers)), *parts]


def send(pipe: IO[bytes], parts: list[memoryview]) -> None:
    """Write what was packed."""
    for part in parts:
        pipe.write(part)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """Read one message, or raise ``EOFError`` if none will come."""
    (count,) = struct.unpack("<Q", _read(pipe, 8))
    sizes = struct.unpack(f"<{count}Q", _read(pipe, 8 * count))
    data, *arrays = [_read(pipe, size) for size in sizes]
    return pickle.loads(data, buffers=arrays)


def _read(pipe: IO[bytes], size: int) -> bytearray:
    """So many bytes, which may be written to."""
    part = bytearray(size)
    if pipe.readinto(part) < size:  # type: ignore[attr-defined]
        raise EOFError("the other side has ended")
    return part
