from __future__ import annotations

import pytest
from PIL import Image

from ital.collection import emoji, sample


def test_everyone_has_it():
    pictures = sample()
    assert len(pictures) >= 1500
    files = {
        path.relative_to(pictures.folder).as_posix()
        for path in pictures.folder.rglob("*")
        if path.is_file()
    }
    assert files == set(pictures.truth)
    assert all(one.name and one.group and one.subgroup for one in pictures.truth.values())
    assert len({one.subgroup for one in pictures.truth.values()}) > 100
    assert not any(": medium skin tone" in one.name for one in pictures.truth.values())
    with Image.open(pictures.folder / next(iter(pictures.truth))) as image:
        assert image.size == (256, 256)
    credit = (pictures.folder.parent / "CREDIT.txt").read_text("utf-8")
    assert "OpenMoji" in credit
    assert "CC BY-SA 4.0" in credit
    assert "ShareAlike" in (pictures.folder.parent / "LICENSE.txt").read_text("utf-8")


def test_it_is_indexed_once(tmp_path, monkeypatch):
    """Into the cache, with what pictures show at hand; here with a few of them."""
    whole = sample()
    few = dict(list(whole.truth.items())[:10])
    folder = tmp_path / "pictures"
    for path in few:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes((whole.folder / path).read_bytes())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    reports = []
    for total in (10, 0):
        reports.clear()
        collection = emoji.Sample(folder, few).collection(
            lambda progress: reports.append(progress.total)
        )
        assert reports[-1] == total
        assert sorted(collection.paths) == sorted(few)


def test_a_checkout_without_it_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(emoji, "_FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError, match="install ital"):
        sample()
