from __future__ import annotations

import re

import pytest

from ital.collection import shelf
from ital.collection.models import NORMALISATIONS
from ital.collection.shelf import ModelError

TABLE = """
[tiny]
repository = "someone/tiny"
revision = "0123456789abcdef0123456789abcdef01234567"
licence = "MIT"
dimension = 3
side = 32
normalisation = "clip"
output = "image_embeds"
lower = true
length = 64
pad = 1
unverified = ["its licence"]

[tiny.tokenizer]
path = "tokenizer.json"
size = 5

[tiny.fp32.picture]
path = "onnx/vision_model.onnx"
size = 10
sha256 = "00"

[tiny.fp32.text]
path = "onnx/text_model.onnx"
size = 20

[tiny.int8.picture]
path = "onnx/vision_model_int8.onnx"

[tiny.int8.text]
path = "onnx/text_model_int8.onnx"
"""


@pytest.fixture
def tiny(tmp_path, monkeypatch) -> shelf.Entry:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return shelf.read(TABLE)["tiny"]


def place(entry: shelf.Entry, precision: str) -> None:
    for file in entry.precisions[precision].values():
        (entry.folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (entry.folder / file.path).touch()


def test_the_table_is_whole():
    assert list(shelf.shelf()) == [
        "dinov2-small",
        "dinov2-base",
        "siglip2-base",
        "clip-vit-b32",
        "mobileclip-s0",
    ]
    for entry in shelf.shelf().values():
        assert re.fullmatch("[0-9a-f]{40}", entry.revision)
        assert re.fullmatch(r"[\w-]+/[\w.-]+", entry.repository)
        assert entry.normalisation in NORMALISATIONS
        assert "fp32" in entry.precisions
        assert entry.words == entry.name.startswith(("siglip", "clip", "mobileclip"))
        for files in entry.precisions.values():
            assert list(files) == (["picture", "text", "tokenizer"] if entry.words else ["picture"])
            for file in files.values():
                assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
                assert (file.sha256 is None) == (file.size is None)
    known = [
        file
        for entry in shelf.shelf().values()
        for files in entry.precisions.values()
        for file in files.values()
        if file.sha256
    ]
    # One file, one checksum: a slip while the table is edited would give two the same.
    assert len({file.sha256 for file in known}) == len({(file.path, file.size) for file in known})


def test_what_a_table_says(tiny):
    assert (tiny.side, tiny.crop, tiny.stretch, tiny.unverified) == (
        32,
        1.0,
        False,
        ("its licence",),
    )
    assert tiny.size("fp32") == 35
    assert tiny.size("int8") is None
    picture = tiny.precisions["fp32"]["picture"]
    assert (picture.path, picture.size, picture.sha256) == ("onnx/vision_model.onnx", 10, "00")


def test_where_files_are(tiny):
    with pytest.raises(ModelError, match=r"tiny is not on this machine: ital models get tiny$"):
        tiny.files("fp32")
    place(tiny, "fp32")
    assert tiny.is_here("fp32")
    found = tiny.files("fp32")
    assert found.picture == tiny.folder / "onnx/vision_model.onnx"
    assert found.text == tiny.folder / "onnx/text_model.onnx"
    assert found.tokenizer == tiny.folder / "tokenizer.json"
    assert (found.lower, found.length, found.pad) == (True, 64, 1)
    with pytest.raises(ModelError, match=r"tiny:int8 is not .*: ital models get tiny --precision"):
        tiny.files("int8")


def test_names(monkeypatch, tiny):
    monkeypatch.setattr(shelf, "shelf", lambda: {"tiny": tiny})
    assert shelf.find("tiny") == (tiny, "fp32")
    assert shelf.find("tiny:int8") == (tiny, "int8")
    assert shelf.called(tiny, "int8") == "tiny:int8"
    assert shelf.find("huge") is None
    with pytest.raises(ModelError, match="precision of tiny must be one of fp32, int8, got 'fp8'"):
        shelf.find("tiny:fp8")
