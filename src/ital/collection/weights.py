"""Tensors out of a legacy PyTorch file, without PyTorch and without trusting the file.

The format of `torch.save` before version 1.6: a magic number, a protocol number and facts on the
machine, each a pickle; a pickle of the object, in which storages are persistent identifiers; a
pickle of the storages' keys; and the storages, each a count and that many elements.
"""

from __future__ import annotations

import collections
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_STORAGES: dict[str, np.dtype[Any]] = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
}


class WeightsError(ValueError):
    """The file is no legacy PyTorch file of tensors."""


class _Storage:
    """Elements that the file holds after the pickles."""

    def __init__(self, kind: str, size: int) -> None:
        if size < 0:
            raise WeightsError(f"a storage must hold 0 or more elements, got {size}")
        self.dtype, self.size = _STORAGES[kind], size
        self.tensors: list[_Tensor] = []

    def read(self, file: BinaryIO) -> None:
        count = int.from_bytes(file.read(8), "little")
        data = file.read(count * self.dtype.itemsize) if count == self.size else b""
        if len(data) != self.size * self.dtype.itemsize:
            raise WeightsError("the file ends within its tensors")
        elements = np.frombuffer(data, self.dtype)
        for tensor in self.tensors:
            tensor.fill(elements)


class _Tensor:
    """A view of a storage, which is read later."""

    def __init__(
        self, storage: _Storage, offset: int, shape: Sequence[int], strides: Sequence[int]
    ) -> None:
        steps = [stride * (size - 1) for stride, size in zip(strides, shape, strict=True)]
        if offset < 0 or min((*shape, *strides, 1)) < 0 or offset + sum(steps) >= storage.size:
            raise WeightsError(f"a tensor of the shape {tuple(shape)} reaches beyond its storage")
        self.offset, self.shape, self.strides = offset, tuple(shape), tuple(strides)
        self.array: Array = np.empty(0)
        storage.tensors.append(self)

    def fill(self, elements: Array) -> None:
        strides = [stride * elements.itemsize for stride in self.strides]
        view = np.lib.stride_tricks.as_strided(elements[self.offset :], self.shape, strides)
        self.array = view.copy()


def _rebuild_tensor(
    storage: _Storage, offset: int, shape: Sequence[int], strides: Sequence[int], *_: object
) -> _Tensor:
    return _Tensor(storage, offset, shape, strides)


class _TensorsOnly(pickle.Unpickler):
    """An unpickler that knows tensors and ordered mappings of them, and refuses all else."""

    _known: Mapping[tuple[str, str], Any] = {
        ("collections", "OrderedDict"): collections.OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
        **{("torch", kind): kind for kind in _STORAGES},
    }

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.storages: dict[str, _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._known:
            raise WeightsError(f"the file asks for {module}.{name}, which is no part of a tensor")
        return self._known[module, name]

    def persistent_load(self, identifier: Any) -> _Storage:
        word, kind, key, _, size, view = identifier
        if word != "storage" or view is not None:
            raise WeightsError(f"the file asks for {identifier!r}, which is no storage")
        return self.storages.setdefault(key, _Storage(kind, size))


def load(path: Path) -> dict[str, Array]:
    """All tensors of a file by their names."""
    try:
        with path.open("rb") as file:
            return _load(file)
    except OSError:
        raise
    except Exception as error:  # a hostile pickle may raise whatever it likes
        _refuse(path, error)


def _load(file: BinaryIO) -> dict[str, Array]:
    header = [_TensorsOnly(file).load() for _ in range(3)]
    if header[:2] != [_MAGIC, _PROTOCOL] or header[2].get("little_endian") is not True:
        raise WeightsError("its beginning is not that of such a file")
    unpickler = _TensorsOnly(file)
    tensors = unpickler.load()
    if not isinstance(tensors, dict) or not all(
        isinstance(name, str) and isinstance(tensor, _Tensor) for name, tensor in tensors.items()
    ):
        raise WeightsError("it is no mapping from names to tensors")
    waiting = dict(unpickler.storages)
    for key in _TensorsOnly(file).load():
        waiting.pop(key).read(file)
    if waiting:
        raise WeightsError("some of its tensors are missing")
    return {name: tensor.array for name, tensor in tensors.items()}


def _refuse(path: Path, error: Exception) -> NoReturn:
    raise WeightsError(f"{path} must be a legacy PyTorch file of tensors, but: {error}") from error
