from __future__ import annotations

import os
import stat
import subprocess
import sys

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


def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("old.txt", "new.txt"):
        link = tmp_path / f"link-to-{name}"
        link.symlink_to(f"there/{name}")
        if name == "old.txt":
            link.write_text("old")
        durable.write_whole(link, "new")
        assert link.is_symlink()
        assert (tmp_path / "there" / name).read_text() == "new"
    assert sorted(one.name for one in (tmp_path / "there").iterdir()) == ["new.txt", "old.txt"]


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    durable.write_whole(pipe, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_device_is_written_to(tmp_path):
    full = tmp_path / "full"  # a mistake would replace the link, not the machine's device
    full.symlink_to("/dev/full")
    with pytest.raises(OSError, match=f"No space left on device: '{full}'"):
        durable.write_whole(full, "no room")
    assert full.is_symlink()
    assert full.is_char_device()


@pytest.mark.parametrize("mode", ["w", "a"])
def test_standard_output_goes_where_the_shell_sends_it(tmp_path, mode):
    """Also to a file, which is not replaced: what is there before and after is kept."""
    stdout, out = tmp_path / "stdout", tmp_path / "out.txt"
    stdout.symlink_to("/proc/self/fd/1")
    program = (
        "import pathlib, ital.durable; print('before', flush=True);"
        f"ital.durable.write_whole(pathlib.Path({str(stdout)!r}), 'whole\\n'); print('after')"
    )
    out.write_text("old\n")
    with out.open(mode) as stream:
        subprocess.run([sys.executable, "-c", program], stdout=stream, check=True)
    assert out.read_text() == ("old\n" if mode == "a" else "") + "before\nwhole\nafter\n"
    piped = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert piped.stdout == b"before\nwhole\nafter\n"
    assert stdout.is_symlink()


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match=f"{tmp_path}' must be a file, but is a folder"):
        durable.write_whole(tmp_path, "text")
    assert list(tmp_path.iterdir()) == []


def test_who_may_read_a_file_may_read_what_takes_its_place(tmp_path):
    path = tmp_path / "file.txt"
    durable.write_whole(path, "new")
    (tmp_path / "other.txt").touch()
    assert path.stat().st_mode == (tmp_path / "other.txt").stat().st_mode
    for mode in (0o600, 0o664):
        path.chmod(mode)
        durable.write_whole(path, "replaced")
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_errors_name_what_was_asked_for(tmp_path):
    missing = tmp_path / "none" / "file.txt"
    with pytest.raises(FileNotFoundError, match=f"'{tmp_path / 'none'}' must be there") as refused:
        durable.write_whole(missing, "text")
    assert ".file.txt" not in str(refused.value)
    (tmp_path / "file.txt").touch()
    below = tmp_path / "file.txt" / "below.txt"
    with pytest.raises(NotADirectoryError, match=f"Not a directory: '{below}'"):
        durable.write_whole(below, "text")


def test_the_longest_names_there_are(tmp_path):
    for name in ("x" * 255, "ü" * 127):
        durable.write_whole(tmp_path / name, "text")
        assert (tmp_path / name).read_text() == "text"


def test_links_that_lead_round_in_circles_are_refused(tmp_path):
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    with pytest.raises(OSError, match=f"symbolic links: '{tmp_path / 'one'}'"):
        durable.write_whole(tmp_path / "one", "text")
    assert (tmp_path / "one").is_symlink()
