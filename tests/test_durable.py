from __future__ import annotations

import pytest

from ital import durable


def test_a_new_file_and_then_another_in_its_place(tmp_path):
    path = tmp_path / "file.txt"
    for text in ("one", "zwei\nä"):
        durable.write_whole(path, text)
        assert path.read_bytes() == text.encode()
    assert [one.name for one in tmp_path.iterdir()] == ["file.txt"]


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file.txt"
    durable.write_whole(path, "old")
    monkeypatch.setattr(durable.os, "fsync", lambda number: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        durable.write_whole(path, "new")
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["file.txt"]
