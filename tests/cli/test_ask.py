from __future__ import annotations

import json
import os
import stat

import pytest
from running import invoke
from terminals import tmux

from ital import Collection


def test_in_a_terminal(folder, tmp_path):
    """Keys, the way back, and a search that is saved at each answer and gone on with."""
    saved = tmp_path / "search.json"
    with tmux("ask", folder, "--like", "a/00.png", "--save", saved, "--batch", 2) as terminal:
        terminal.wait_for("1/2")
        assert f"{folder}/" in terminal.wait_for("[y]es  [n]o  [s]kip  [u]ndo  [q]uit")
        terminal.press("u")
        terminal.wait_for("There is no answer to take back.")
        terminal.press("y")
        terminal.wait_for("2/2")
        assert len(Collection.open(folder).load_search(saved).labels) == 2
        terminal.press("n")
        terminal.wait_for("So far 2 yes, 1 no, 0 unsure; about")
        terminal.press("u")
        terminal.wait_for("Taken back.")
        assert len(Collection.open(folder).load_search(saved).labels) == 2
        terminal.press("s")
        terminal.wait_for("So far 2 yes, 0 no, 1 unsure")
        terminal.press("C-c")
        terminal.wait_for("ended 0")
    search = Collection.open(folder).load_search(saved)
    assert [len(event.labels) for event in search.events] == [1, 2]
    assert sorted(map(str, search.labels.values())) == ["None", "True", "True"]
    result = invoke("ask", folder, "--load", saved, "--top", 4, input="n q")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 4
    assert len(Collection.open(folder).load_search(saved).labels) == 3, "it was not to be saved"
    again = invoke("ask", folder, "--load", saved, "--save", saved, input="n")
    assert again.exit_code == 0, again.output
    assert again.stdout == ""
    assert len(Collection.open(folder).load_search(saved).labels) == 4


def test_from_a_pipe_to_the_last_picture(folder):
    result = invoke("ask", folder, "--like", "a/00.png", "--json", input="y\nn\ns\n" + "Y" * 20)
    assert result.exit_code == 0, result.output
    assert "There is nothing left to ask." in result.stderr
    listed = json.loads(result.stdout)["pictures"]
    assert {one["label"] for one in listed} <= {"yes", "unsure"}
    assert len(listed) >= 9


def test_words(shapes, tmp_path):
    saved = tmp_path / "search.json"
    ask = ("ask", shapes, "--text", "red circle, not square", "--save", saved)
    result = invoke(*ask, input="ssq")
    assert result.exit_code == 0, result.output
    search = Collection.open(shapes).load_search(saved)
    assert search.text == ("red circle", "not square")
    assert list(search.labels.values()) == [None, None]
    result = invoke("ask", shapes, "--load", saved, "--top", 20, input="q")
    assert sum("red circle" in line for line in result.stdout.splitlines()) >= 18
    result = invoke("ask", shapes, "--load", saved, "--text", "blue")
    assert result.exit_code == 2
    assert "--text or --load, not both" in result.stderr


def test_without_answers_the_best_are_printed(folder):
    result = invoke("ask", folder, "--like", "a/00.png", "-0", input="")
    assert result.stdout.count("\0") == 12


@pytest.mark.skipif(os.name != "posix", reason="needs scripts of a shell")
def test_another_viewer(folder, tmp_path):
    script = tmp_path / "viewer"
    script.write_text(f'#!/bin/sh\necho "$1" "$2" >> {tmp_path}/seen\nexec sleep 600\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    ask = ("ask", folder, "--like", "a/00.png", "--viewer", f"{script} --large")
    with tmux(*ask) as terminal:
        terminal.wait_for("1/4")
        terminal.press("y")
        terminal.wait_for("2/4")
        terminal.press("q")
        screen = terminal.wait_for("ended 0")
    seen = (tmp_path / "seen").read_text().splitlines()
    assert len(seen) == 2
    for number, line in enumerate(seen, start=1):
        assert f"{number}/4 {line.removeprefix('--large ')}" in screen
    result = invoke(*ask[:-1], "no such program")
    assert result.exit_code == 2
    assert "--viewer must be a program that is there, got 'no such program'" in result.stderr


def test_mistakes_are_explained_and_nothing_is_replaced(folder, tmp_path):
    (tmp_path / "old.json").write_text("{}")
    for arguments, words in (
        ([folder], "a picture by --like or words by --text, or use --load"),
        ([tmp_path, "--like", "a.png"], "run ital index first"),
        ([folder, "--load", tmp_path / "old.json"], "must be a saved search"),
        ([folder, "--like", "a/00.png", "--save", tmp_path / "old.json"], "--save must name a new"),
        ([folder, "--like", "a/00.png", "--save", tmp_path / "no" / "x"], "must be there"),
    ):
        result = invoke("ask", *arguments, input="yyyy")
        assert result.exit_code == 2
        assert result.stdout == ""
        assert words in result.stderr
    assert (tmp_path / "old.json").read_text() == "{}"
