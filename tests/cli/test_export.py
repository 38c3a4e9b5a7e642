from __future__ import annotations

import csv
import io

import pandas
import pytest
from running import invoke

from ital import Collection


@pytest.fixture
def saved(folder, tmp_path):
    """Three searches, of which the last two claim the same picture."""
    collection = Collection.open(folder)
    known = collection.identifiers(collection.paths)
    classes = {
        "a": ("a/00.png", "a/03.png", "a/06.png"),
        "b": ("b/01.png", "b/04.png", "b/07.png"),
        "c": ("b/07.png", "c/02.png"),
    }
    for name, paths in classes.items():
        search = collection.search(seed=0)
        search.query(relevant=[known[path] for path in paths])
        search.save(tmp_path / f"{name}.json")
    return [tmp_path / f"{name}.json" for name in classes]


def test_results_and_answers_on_standard_output(folder, saved):
    result = invoke("export", folder, saved[0], "--top", 8)
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    said = {row["path"] for row in rows if row["label"] == "yes"}
    assert said == {"a/00.png", "a/03.png", "a/06.png"}
    result = invoke("export", folder, saved[0], "--what", "answers")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["round"] + row["kind"] + row["label"] for row in rows] == ["0queryyes"] * 3
    assert "3 answers" in result.stderr


def test_answers_as_a_file(folder, saved, tmp_path):
    out = tmp_path / "said.parquet"
    options = ("--what", "answers", "--format", "parquet", "--out", out)
    assert invoke("export", folder, saved[2], *options).exit_code == 0
    assert pandas.read_parquet(out).path.tolist() == ["b/07.png", "c/02.png"]


def test_a_data_set(folder, saved, tmp_path):
    out = tmp_path / "set"
    result = invoke("export", folder, *saved[:2], "--dataset", out, "--split", 0.3)
    assert result.exit_code == 0, result.output
    assert "a: 2 train, 1 val" in result.stderr
    files = sorted(str(path.relative_to(out)) for path in out.rglob("*.png"))
    assert len(files) == 6
    assert {name.split("/")[0] for name in files} == {"train", "val"}
    linked = invoke("export", folder, *saved[:2], "--dataset", tmp_path / "links", "--link")
    assert linked.exit_code == 0
    assert all(path.is_symlink() for path in (tmp_path / "links").rglob("*.png"))


def test_conflicts_are_listed(folder, saved, tmp_path):
    export = ("export", folder, *saved, "--dataset", tmp_path / "set")
    result = invoke(*export)
    assert result.exit_code == 2
    assert f"{folder}/b/07.png: b, c\n" in result.stderr
    assert "give --conflicts skip or first" in result.stderr
    assert not (tmp_path / "set").exists()
    assert invoke(*export, "--conflicts", "first", "--layout", "coco").exit_code == 0
    assert len(list((tmp_path / "set").rglob("*.png"))) == 7


def test_mistakes_are_explained(folder, saved, tmp_path):
    (tmp_path / "other").mkdir()
    twin = tmp_path / "other" / "a.json"
    twin.write_bytes(saved[0].read_bytes())
    new = tmp_path / "new"
    for arguments, words in (
        (saved, "3 need --dataset"),
        ([saved[0], "--what", "all"], "--what must be results, answers or search, got 'all'"),
        ([saved[0], "--format", "links"], "without --out, got 'links'"),
        ([saved[0], "--what", "answers", "--format", "paths"], "csv, json, parquet without --out"),
        ([saved[0], "--out", saved[0]], "out must not replace the search"),
        ([saved[0], "--out", new, "--dataset", new], "give one of them"),
        ([saved[0], twin, "--dataset", new], "two are called 'a'"),
        ([saved[0], "--dataset", new, "--layout", "x"], "layout must be one of"),
    ):
        result = invoke("export", folder, *arguments)
        assert result.exit_code == 2
        assert words in result.stderr
        assert result.stdout == ""
    assert not new.exists()
