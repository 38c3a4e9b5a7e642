from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from making import draw, swapping

from ital.collection.scan import open_inside, printable, reason, scan


def paths(found):
    return [one.path for one in found]


def test_files_below_a_folder_in_order(tmp_path):
    for name in ("b/2.png", "a.png", "b/1.png", "ü/🐅.png", ".hidden.png", ".git/x.png"):
        draw(tmp_path / name, 0)
    files, skipped = scan(tmp_path)
    assert paths(files) == ["a.png", "b/1.png", "b/2.png", "ü/🐅.png"]
    assert not skipped
    status = (tmp_path / "a.png").stat()
    assert (files[0].size, files[0].modified) == (status.st_size, status.st_mtime_ns)


def test_a_folder_may_be_left_out(tmp_path):
    draw(tmp_path / "a.png", 0)
    draw(tmp_path / "store" / "b.png", 0)
    assert paths(scan(tmp_path, without=tmp_path / "store")[0]) == ["a.png"]


def test_links_bring_only_what_is_not_there_without_them(tmp_path):
    folder = tmp_path / "in"
    draw(folder / "real" / "a.png", 0)
    draw(folder / ".objects" / "b.png", 1)
    draw(folder / ".more" / "c.png", 2)
    (folder / "again.png").symlink_to("real/a.png")
    (folder / "again").symlink_to("real")
    (folder / "z.png").symlink_to(".objects/b.png")
    (folder / "zz.png").symlink_to(".objects/b.png")
    (folder / "more").symlink_to(".more")
    files, skipped = scan(folder)
    assert paths(files) == ["more/c.png", "real/a.png", "z.png"]
    assert not skipped


def test_hard_links_are_files_of_their_own(tmp_path):
    draw(tmp_path / "a.png", 0)
    os.link(tmp_path / "a.png", tmp_path / "b.png")
    assert paths(scan(tmp_path)[0]) == ["a.png", "b.png"]


def test_links_that_lead_out_nowhere_or_in_circles(tmp_path):
    draw(tmp_path / "out.png", 0)
    folder = tmp_path / "in"
    draw(folder / "sub" / "a.png", 0)
    (folder / "out.png").symlink_to(tmp_path / "out.png")
    (folder / "nowhere").symlink_to("nothing")
    (folder / "self").symlink_to("self")
    (folder / "sub" / "up").symlink_to("..")
    files, skipped = scan(folder)
    assert paths(files) == ["sub/a.png"]
    assert paths(skipped) == ["nowhere", "out.png", "self"]
    assert "out of the folder" in skipped[1].reason
    assert "nowhere" in skipped[0].reason


def test_the_folder_itself_may_be_a_link(tmp_path):
    draw(tmp_path / "real" / "a.png", 0)
    (tmp_path / "link").symlink_to("real")
    assert paths(scan(tmp_path / "link")[0]) == ["a.png"]


def test_links_into_the_collection_are_left_alone(tmp_path):
    draw(tmp_path / ".ital" / "a.png", 0)
    (tmp_path / "link").symlink_to(".ital")
    assert scan(tmp_path, without=tmp_path / ".ital") == ([], [])


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("plain ü 🐅.png", "plain ü 🐅.png"),
        ("a\nb\x1b[31m", "a\\nb\\x1b[31m"),
        ("not-\udcff", "not-\\udcff"),
        ("right\u202eleft", "right\\u202eleft"),
    ],
)
def test_names_can_be_printed(path, shown):
    assert printable(path) == shown


def test_reasons():
    assert reason(PermissionError(13, "Permission denied")) == "no permission"
    assert reason(OSError(36, "File name too long")) == "file name too long"
    assert reason(RuntimeError("Symlink loop")) == "symlink loop"


@pytest.fixture(params=["by descriptors", "by paths"])
def folder(request, tmp_path, monkeypatch):
    """A folder beside a secret, on a system that can open files from a folder on, or cannot."""
    if request.param == "by paths":
        monkeypatch.setattr(os, "supports_dir_fd", set())
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "sub" / "a.png").write_bytes(b"a")
    return tmp_path / "in"


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir()) if sys.platform == "linux" else 0


class TestOpenInside:
    def test_files_and_links_to_them(self, folder):
        (folder / "link.png").symlink_to("sub/a.png")
        (folder / "whole.png").symlink_to(folder / "sub" / "a.png")
        (folder / "more").symlink_to("sub")
        (folder.parent / "door").symlink_to("in")
        for path in ("sub/a.png", "link.png", "whole.png", "more/a.png", "sub/../sub/./a.png"):
            for root in (folder, folder.parent / "door"):
                with open_inside(root, path) as file:
                    assert file.read() == b"a"

    def test_nothing_else(self, folder):
        (folder / "out.png").symlink_to("../secret")
        (folder / "up").symlink_to("..")
        (folder / "circle").symlink_to("circle")
        os.mkfifo(folder / "pipe")
        (folder / "to-pipe").symlink_to("pipe")
        for path in (
            *(
                "out.png",
                "up/secret",
                "../secret",
                "sub/../../secret",
                str(folder.parent / "secret"),
            ),
            *("circle", "pipe", "to-pipe", "sub", "", ".", "..", "none.png", "sub/a.png/more"),
            *("sub/a.png\0", "x" * 5000),
        ):
            before = descriptors()
            with pytest.raises(OSError, match=r"\["):
                open_inside(folder, path)
            assert descriptors() == before

    @pytest.mark.parametrize("swapped", ["sub/a.png", "sub"])
    def test_not_even_for_a_moment(self, tmp_path, swapped):
        """A file, or the folder that it is in, is a link to outside at one moment, not the next."""
        draw(tmp_path / "in" / "sub" / "a.png", 0)
        draw(tmp_path / "out" / "a.png", 1)
        own = (tmp_path / "in" / "sub" / "a.png").read_bytes()
        outside = tmp_path / "out" / ("a.png" if swapped.endswith("png") else "")
        seen = 0
        with swapping(tmp_path / "in" / swapped, outside):
            for _ in range(10_000):
                try:
                    with open_inside(tmp_path / "in", "sub/a.png") as file:
                        assert file.read() == own
                        seen += 1
                except OSError:
                    continue
        assert seen
