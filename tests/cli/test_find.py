from __future__ import annotations

import json
import os
import subprocess
import sys

from making import draw
from running import invoke

import ital


def test_paths_are_all_there_is_on_standard_output(folder, tmp_path):
    command = [sys.executable, "-m", "ital", "find", str(folder), "--like", "a/00.png"]
    done = subprocess.run([*command, "--top", "3"], capture_output=True, text=True, check=True)
    collection = ital.Collection.open(folder)
    search = collection.search(seed=0)
    search.query(relevant=[collection.identifiers(["a/00.png"])["a/00.png"]])
    best = [str(collection.path(one)) for one in search.results(3).ids]
    assert done.stdout.splitlines() == best
    assert best[0] == str(folder / "a" / "00.png")
    assert done.stderr == ""
    every = invoke("find", folder, "--like", "a/00.png")
    assert len(every.stdout.splitlines()) == 12, "there are fewer than a hundred"


def test_examples_from_anywhere(folder, tmp_path, monkeypatch):
    outside = draw(tmp_path / "outside.png", 5)
    monkeypatch.chdir(folder / "b")
    for like in (outside, "../c/05.png", folder / "c" / "05.png", "c/05.png"):
        result = invoke("find", folder, "--like", like, "--not", "01.png", "--top", 12)
        assert result.exit_code == 0, result.output
        paths = result.stdout.splitlines()
        assert paths[0] == str(folder / "c" / "05.png")
        assert paths.index(str(folder / "b" / "01.png")) > 6


def test_json_nuls_and_thresholds(folder, tmp_path):
    find = ("find", folder, "--like", "a/00.png")
    content = json.loads(invoke(*find, "--json").stdout)
    assert content["root"] == str(folder)
    probable = [one for one in content["pictures"] if one["probability"] >= 0.5]
    result = invoke(*find, "--threshold", 0.5, "-0")
    assert result.stdout == "".join(f"{folder / one['path']}\0" for one in probable)
    assert content["pictures"][0]["label"] == "yes"


def test_what_a_line_cannot_hold_is_told(folder):
    draw(folder / "line\nbreak.png", 40)
    assert invoke("index", folder).exit_code == 0
    result = invoke("find", folder, "--like", "a/00.png")
    assert "1 left out for line breaks in their paths" in result.stderr
    assert "-0 has them all" in result.stderr
    assert len(result.stdout.splitlines()) == 12
    assert "line\nbreak.png\0" in invoke("find", folder, "--like", "a/00.png", "-0").stdout


def test_words(shapes, folder):
    """Alone, several, and with examples and counterexamples."""

    def found(*options):
        result = invoke("find", shapes, *options)
        assert result.exit_code == 0, result.output
        return [
            line.removeprefix(f"{shapes}/").rpartition(" ")[0]
            for line in result.stdout.splitlines()
        ]

    assert found("--text", "a red circle", "--top", 20).count("red circle") >= 19
    best = found("--text", "circle, not red", "--text", "not blue", "--top", 30)
    assert set(best) == {"green circle", "yellow circle"}
    options = ("--like", "red square 03.png", "--not", "red circle 01.png", "--top", 20)
    assert found("--text", "red", *options).count("red square") >= 18
    assert len(found("--text", "red")) == 100
    result = invoke("find", folder, "--text", "a red circle")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "does not: index the pictures by one that does" in " ".join(result.stderr.split())
    assert "ital models" in result.stderr


def test_mistakes_are_explained(folder, tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    for arguments, words in (
        ([tmp_path, "--like", "a.png"], "run ital index first"),
        ([folder], "a picture by --like or words by --text"),
        ([folder, "--like", "none.png"], "--like must name pictures, but 'none.png' is not there"),
        ([folder, "--not", "none.png"], "--not must name pictures"),
        ([folder, "--like", tmp_path / "text.png"], "must be a picture, but"),
        ([folder, "--like", "a/00.png", "--not", "a/00.png"], "both relevant and irrelevant"),
    ):
        result = invoke("find", *arguments)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert words in " ".join(result.stderr.split())


def test_the_shell_completes_commands():
    asked = {"_ITAL_COMPLETE": "complete_bash", "COMP_WORDS": "ital fi", "COMP_CWORD": "1"}
    script = "import sys; sys.argv[0] = 'ital'; from ital.__main__ import main; main()"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | asked)
    assert done.stdout.split() == ["find"]
