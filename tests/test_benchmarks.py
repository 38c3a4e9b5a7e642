"""The benchmarks run; what they measure is not judged here."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from making import draw

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
# pools.py is no script: others import from it.
SCRIPTS = sorted(one.name for one in BENCHMARKS.glob("*.py") if one.name != "pools.py")


@pytest.fixture
def run(monkeypatch):
    """Run a script here, where all that it imports is there already; what it prints."""
    known = set(sys.modules)

    def run(script: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [script, *arguments])
        monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            runpy.run_path(str(BENCHMARKS / script), run_name="__main__")
        return printed.getvalue()

    yield run
    for name in set(sys.modules) - known:
        if BENCHMARKS in Path(getattr(sys.modules[name], "__file__", None) or "").parents:
            del sys.modules[name]


@pytest.mark.parametrize("script", SCRIPTS)
def test_select_is_that_of_the_standard_library(script):
    """Their folder leaves the path before anything else is imported, but for built-in modules."""
    lines = [ast.unparse(one) for one in ast.parse((BENCHMARKS / script).read_text()).body]
    begun = lines.index("import sys")
    assert [line.split()[0] for line in lines[1:begun]] == ["from"], "from __future__"
    assert lines[begun + 1] in ("sys.path.pop(0)", "sys.path[0] += '/../tests'")


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from Linux's /proc")
def test_select(run, tmp_path):
    out = tmp_path / "folder" / "select.json"
    options = ("--sizes", "400", "--repeats", "1", "--oracle-size", "100", "--oracle-sample", "1")
    printed = run("select.py", *options, "--out", str(out))
    for letter in "abcd":
        assert f"({letter})" in printed
    report = json.loads(out.read_text())
    assert report["against_oracle"]["ratio"] > 1
    measured = report["400x512"]
    for strategy in ("context", "ital"):
        for number in (1, 2, 10):
            assert measured[strategy][f"round_{number}"]["ratio"] > 0
        assert measured[strategy]["labels"] == 41
    assert len(measured["evaluated_candidates"]) == 10


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from Linux's /proc")
def test_scale(run, tmp_path):
    out = tmp_path / "scale.json"
    options = ("--parts", "acd", "--sizes", "1000", "3200", "--dimension", "16", "--rounds", "2")
    options += ("--mapped", "2000", "--mapped-dimension", "8", "--repeats", "1", "--out", str(out))
    printed = run("scale.py", *options)
    for letter in "acd":
        assert f"({letter})" in printed
    report = json.loads(out.read_text())
    assert report["growth"]["sizes"]["3200"]["ratio"] > 0
    assert report["mapped"]["labels"] == 41
    assert sum(one["held_back"] for one in report["costs"]["sizes"]) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from Linux's /proc")
def test_labels(run, tmp_path):
    out = tmp_path / "labels.json"
    sizes = ("--images", "300", "--dimension", "8", "--labels", "40")
    printed = run("labels.py", *sizes, "--out", str(out))
    assert "times as long" in printed
    report = json.loads(out.read_text())
    assert report["ratio"]["clock"] > 0
    assert max(report["apart"].values()) < 1e-9


def test_strategies(run, data_folder, tmp_path):
    out = tmp_path / "strategies.json"
    printed = run(
        "strategies.py", "--strategies", "ital", "tcal", "--rounds", "1", "--out", str(out)
    )
    assert "MB kept" in printed
    report = json.loads(out.read_text())
    assert report.keys() == {"ital", "tcal"}
    assert all(value > 0 for one in report.values() for value in one.values())


def test_scores(run):
    printed = run("scores.py", "--aucs", "0.9", "--queries", "1", "--rounds", "1")
    assert "digits, 10 queries" in printed
    for begun in ("picture", "score 0.9", "both 0.9"):
        assert re.search(
            rf"^{begun} +0\.\d+ \([+-]0\.\d+ ± 0\.\d+\)( +[01]\.\d+){{2}}$", printed, re.M
        )


def test_audit(run, tmp_path):
    out = tmp_path / "audit.json"
    options = ("--data", "digits", "--searches", "2", "--rounds", "1", "--answers", "9")
    printed = run("audit.py", *options, "--out", str(out))
    assert "recall" in printed
    report = json.loads(out.read_text())["digits"]
    assert report["precision"].keys() == {"holds", "width"}
    assert len(report["searches"]) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from Linux's /proc")
def test_collection(run, tmp_path):
    out = tmp_path / "collection.json"
    options = ("--size", "300", "--dimension", "160", "--repeats", "1", "--out", str(out))
    printed = run("collection.py", *options)
    assert "times as fast" in printed
    report = json.loads(out.read_text())
    assert report["ratio"] > 0
    assert report["thumbnails"].keys() == {"address", "index", "pass"}
    assert report["rounds"]["128 float16"]["bytes"] == 256


def test_stacks(run, tmp_path):
    for number in range(8):
        draw(tmp_path / "pictures" / f"{number}.png", number, (320, 240))
    out = tmp_path / "stacks.json"
    options = ("--size", "3000", "--dimension", "32", "--late", "50", "--repeats", "1")
    printed = run("stacks.py", str(tmp_path / "pictures"), *options, "--out", str(out))
    for letter in "abc":
        assert f"({letter})" in printed
    report = json.loads(out.read_text())
    assert report["copies"]["copies"]["compressed"] == 1
    assert report["copies"]["different"] == []
    assert report["scale"]["centres"] < 3000


def test_index(run, tmp_path):
    for number in range(20):
        draw(tmp_path / "pictures" / f"{number}.png", number)
    out = tmp_path / "index.json"
    printed = run("index.py", str(tmp_path / "pictures"), "--repeats", "1", "--out", str(out))
    assert "of the network's speed" in printed
    report = json.loads(out.read_text())
    assert report["medians"]["ratio"] > 0
    assert report["medians"]["again"] > 0


def test_serve(tmp_path):
    """The grid is looked at where there is a Chromium.

    It has a process of its own, whose end closes its many connections.
    """
    out = tmp_path / "serve.json"
    options = ("--parts", "abcdefg", "--folder", str(tmp_path / "million"), "--out", str(out))
    options += ("--large", "300", "--small", "200", "--million", "400", "--dimension", "8")
    options += ("--users", "2", "--rounds", "2", "--frames", "20", "--requests", "20")
    options += ("--times", "1", "--clicks", "1", "--many", "50", "--searches", "1")
    command = [sys.executable, str(BENCHMARKS / "serve.py"), *options]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    report = json.loads(out.read_text())
    for measured in (report, report["million"]):
        assert measured["against_library"].keys() == {"batch", "batch and results"}
        assert all(one["ratio"] > 0 for one in measured["against_library"].values())
    assert report["million"]["opening"]["searches"] > 0
    assert (tmp_path / "million" / ".ital").is_dir(), "kept for the next run"
    assert report["many_users"]["failures"] == 0
    assert "over 100 ms" in printed or report["scrolling"] is None
    assert report["keep_alive"]["thumbnails"] > 0
    assert report["marking"].keys() == {"many answers", "their undo"}
    assert all(0 < one["acknowledged"] <= one["server"] for one in report["marking"].values())
    assert report["filling"] is None or report["filling"]["thumbnails"] > 1
