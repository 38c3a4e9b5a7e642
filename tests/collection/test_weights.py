from __future__ import annotations

import os
import pickle
import struct
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from ital.collection.weights import WeightsError, load

HEADER = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True, "protocol_version": 1001})


class Global:
    """Pickles as a name in some module, whether or not that exists here."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class Call:
    """Pickles as a call of a global."""

    def __init__(self, function: Global, *arguments: object) -> None:
        self.function, self.arguments = function, arguments


class Storage:
    def __init__(self, kind: str, key: str, size: int, word: str = "storage") -> None:
        self.kind, self.key, self.size, self.word = kind, key, size, word


class Pickler(pickle._Pickler):
    """Writes what PyTorch would have written, with no PyTorch."""

    def persistent_id(self, thing):
        if isinstance(thing, Storage):
            kind = Global("torch", thing.kind)
            return (thing.word, kind, thing.key, "cpu", thing.size, None)
        return None

    def save(self, thing, *arguments, **options):
        if isinstance(thing, Global):
            self.write(pickle.GLOBAL + f"{thing.module}\n{thing.name}\n".encode())
        elif isinstance(thing, Call):
            self.save(thing.function)
            self.save(thing.arguments)
            self.write(pickle.REDUCE)
        else:
            super().save(thing, *arguments, **options)


REBUILD = Global("torch._utils", "_rebuild_tensor_v2")


def tensor(storage: Storage, offset: int, shape: tuple, strides: tuple) -> Call:
    return Call(REBUILD, storage, offset, shape, strides, False, OrderedDict())


def write(path: Path, content: object, storages: dict[str, np.ndarray], header=HEADER) -> Path:
    with path.open("wb") as file:
        for part in header:
            pickle.dump(part, file, protocol=2)
        Pickler(file, protocol=2).dump(content)
        pickle.dump(list(storages), file, protocol=2)
        for values in storages.values():
            file.write(struct.pack("<q", values.size))
            file.write(values.tobytes())
    return path


def test_tensors_come_out_as_they_went_in(tmp_path):
    values = np.arange(24, dtype="<f4")
    storage = Storage("FloatStorage", "7", 24)
    counts = np.array([5], dtype="<i8")
    content = OrderedDict(
        whole=tensor(storage, 0, (2, 3, 4), (12, 4, 1)),
        turned=tensor(storage, 0, (4, 6), (1, 4)),
        part=tensor(storage, 20, (4,), (1,)),
        count=tensor(Storage("LongStorage", "8", 1), 0, (), ()),
    )
    found = load(write(tmp_path / "w.pth", content, {"7": values, "8": counts}))
    np.testing.assert_array_equal(found["whole"], values.reshape(2, 3, 4))
    np.testing.assert_array_equal(found["turned"], values.reshape(6, 4).T)
    np.testing.assert_array_equal(found["part"], values[20:])
    assert found["count"].shape == ()
    assert found["count"] == 5


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("posix", "system"),
        ("builtins", "eval"),
        ("subprocess", "Popen"),
        ("torch", "load"),
        ("numpy", "frombuffer"),
        ("collections", "namedtuple"),
    ],
)
def test_nothing_but_tensors_is_made(tmp_path, module, name):
    mark = tmp_path / "was-here"
    content = OrderedDict(a=Call(Global(module, name), f"touch {mark}"))
    path = write(tmp_path / "evil.pth", content, {})
    with pytest.raises(WeightsError, match=f"asks for {module}.{name}"):
        load(path)
    assert not mark.exists()


class Evil:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


def test_a_plain_malicious_pickle_does_nothing(tmp_path):
    mark = tmp_path / "was-here"
    path = tmp_path / "evil.pth"
    path.write_bytes(pickle.dumps(Evil(mark)))
    with pytest.raises(WeightsError, match="system"):
        load(path)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [((25,), (1,), 0), ((24,), (1,), 1), ((2, 12), (13, 1), 0), ((4,), (-1,), 3), ((-1,), (1,), 0)],
)
def test_tensors_stay_within_their_storage(tmp_path, shape, strides, offset):
    content = {"a": tensor(Storage("FloatStorage", "7", 24), offset, shape, strides)}
    path = write(tmp_path / "w.pth", content, {"7": np.zeros(24, "<f4")})
    with pytest.raises(WeightsError, match="beyond its storage"):
        load(path)


def test_what_is_no_such_file_is_refused(tmp_path):
    storage = Storage("FloatStorage", "7", 24)
    whole = write(
        tmp_path / "w.pth", {"a": tensor(storage, 0, (24,), (1,))}, {"7": np.zeros(24, "<f4")}
    )
    for content in (b"", b"hello", whole.read_bytes()[:-1], whole.read_bytes()[:60]):
        path = tmp_path / "broken.pth"
        path.write_bytes(content)
        with pytest.raises(WeightsError, match="legacy PyTorch file"):
            load(path)
    for content, words in (
        ([1, 2], "no mapping"),
        ({"a": 3}, "no mapping"),
        ({"a": tensor(Storage("FloatStorage", "7", 24, "module"), 0, (1,), (1,))}, "no storage"),
    ):
        with pytest.raises(WeightsError, match=words):
            load(write(tmp_path / "w.pth", content, {"7": np.zeros(24, "<f4")}))
    with pytest.raises(WeightsError, match="tensors are missing"):
        load(write(tmp_path / "w.pth", {"a": tensor(storage, 0, (24,), (1,))}, {}))
    with pytest.raises(WeightsError, match="beginning"):
        load(write(tmp_path / "w.pth", {}, {}, (1, 2, {})))
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.pth")
