from __future__ import annotations

import csv
import json
import re
import shutil
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from PIL import Image

from ital.evaluation import plots, report, tables
from ital.evaluation.experiment import Settings, names
from ital.evaluation.peers import PEERS
from ital.evaluation.report.cases import cases
from ital.evaluation.runner import run


class Page(HTMLParser):
    """The page's elements, closed as they were opened."""

    VOID = ("meta", "img", "br", "link", "input")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    labels = ("ital", "entropy", "random")
    run(Settings("digits", labels, queries=1, rounds=2), folder / "digits", 1)
    run(
        Settings("digits", labels[1:], queries=1, rounds=2, user="blend"),
        folder / "digits-blend",
        1,
    )
    # A run of an earlier version, which knew neither of base rates nor of calibration.
    for file in (folder / "digits-blend").rglob("*.json*"):
        lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
        contents = [json.loads(line) for line in lines]
        for content in contents:
            content.pop("calibration", None)
            content.pop("base_rate", None)
        file.write_text("".join(json.dumps(content) + "\n" for content in contents))
    run(
        Settings("digits", labels, queries=1, rounds=2, base_rate="learn"),
        folder / "digits-rate-learn",
        1,
    )
    return folder


@pytest.fixture(scope="module")
def written(folder):
    return {path.name: path for path in report.write(folder)}


def test_all_that_was_promised(written):
    names = [
        *(f"curves-{run}" for run in ("digits", "digits-blend", "digits-rate-learn")),
        *(f"calibration-{run}" for run in ("digits", "digits-rate-learn")),
    ]
    pictures = {f"{name}.{kind}" for name in names for kind in ("png", "svg")}
    assert written.keys() == {"report.html", "report.md", "report.csv"} | pictures


def test_csv(folder, written):
    with written["report.csv"].open() as file:
        lines = list(csv.DictReader(file))
    runs = {one.name: one for one in tables.read(folder)}
    assert len(lines) == 8
    for line in lines:
        (row,) = [row for row in runs[line["run"]].rows if row.strategy == line["strategy"]]
        assert float(line["area"]) == row.area
        assert int(line["rank"]) == row.rank
        assert line["paper"] == ""
        stages = runs[line["run"]].stages()[row.strategy]
        assert [float(line[f"after_{number}"]) for number in (1, 2)] == list(stages.values())
        assert line["after_10"] == ""
        # One of the runs is with users who err, and what they say yes to is not found.
        assert line["found"] == ("" if row.found is None else str(row.found))
        assert (line["found"] == "") == (line["run"] == "digits-blend")


def test_markdown(folder, written):
    text = written["report.md"].read_text()
    for one in tables.read(folder):
        assert f"## {one.name}" in text
        for row in one.rows:
            assert re.search(rf"\| {row.rank} \| {row.strategy} \| {row.area:.4f} \|", text)
        stages = one.stages()
        for label, values in stages.items():
            assert (
                f"| {label} | " + " | ".join(f"{x:.4f}" for x in values.values()) + " |\n" in text
            )
        section = text.partition(f"## {one.name}\n")[2].partition("\n## ")[0]
        assert "| strategy | after 1 | after 2 |\n" in section
        assert ("| found | found per question |" in section) == (one.name != "digits-blend")
    # A table's lines have as many cells as its head.
    for table in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1
    # The paper has nothing on digits, so that these columns would be empty.
    assert "| difference |" not in text
    # One of the runs is about a user who errs, and one under another base rate.
    assert "## All together" not in text


def test_calibrations(folder, written):
    """A table for each run that has them, and one of all of them."""
    text = written["report.md"].read_text()
    page = written["report.html"].read_text()
    for one in tables.read(folder):
        _, _, section = text.partition(f"## {one.name}\n")
        section = section.partition("\n## ")[0]
        assert ("### Calibration" in section) == (one.name != "digits-blend")
        assert f"base rate: {one.base_rate}." in section
        # Without a base rate there are no intervals.
        assert ("in 80 % interval" in section) == (one.name == "digits-rate-learn")
        for row in one.calibrated():
            line = f"| {row.strategy} | {row.round} | {row.brier:.4f} | {row.log_loss:.4f} | "
            assert line + f"{row.ratio:.2f} |" in section
            assert f'data-value="{row.brier}"' in page
        for row in one.calibrated()[1::2]:
            assert row.round == 2
            line = f"| {row.strategy} | 2 | {row.brier:.4f} | {row.log_loss:.4f} | "
            area = next(other.area for other in one.rows if other.strategy == row.strategy)
            last = rf"\| {one.name} \| {one.base_rate} {re.escape(line)}{row.ratio:.2f} \| "
            assert re.search(last + rf"(\d+ %)? \| {area:.4f} \|", text)
        for draw in ("Calibration", "Learning curves"):
            there = f'aria-label="{draw} on {one.name}"' in page
            assert there == (draw == "Learning curves" or one.name != "digits-blend")
    assert ET.parse(written["calibration-digits.svg"]).getroot().tag.endswith("svg")


def test_reports_on_earlier_runs_say_nothing_of_calibration(folder, tmp_path):
    shutil.copytree(folder / "digits-blend", tmp_path / "digits-blend")
    written = report.write(tmp_path)
    assert not any("calibration" in path.name for path in written)
    for name in ("report.md", "report.html"):
        assert "Calibration" not in (tmp_path / name).read_text()


def test_page(written):
    text = written["report.html"].read_text()
    page = Page(text)
    assert page.open == []
    # Nothing is fetched from anywhere.
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe")
        for name in ("src", "href"):
            if name in attributes and tag != "use":
                assert attributes[name].startswith(("data:image/png", "#")), attributes[name][:60]
    assert "prefers-color-scheme: dark" in text
    assert text.count("Average precision after rounds") == 3
    assert "<em>found per question</em>" in text
    pictures = [a for tag, a in page.tags if tag == "img"]
    # Best and worst case, two strategies, a query and two rounds of four questions each.
    assert len(pictures) == 2 * 2 * (1 + 2 * 4) * 3
    assert {a["class"] for a in pictures} <= {"yes", "no", "unsure"}
    assert "Best case of ital" in text
    assert "against random" in text  # entropy asks the same as ital


def test_curves(written):
    with Image.open(written["curves-digits.png"]) as picture:
        assert picture.size[0] > 800
    assert ET.parse(written["curves-digits.svg"]).getroot().tag.endswith("svg")


def test_colours_differ(folder):
    one = tables.read(folder)[0]
    colours = {plots.colour(label) for label in one.settings.strategies}
    assert len(colours) == 3
    known = names()
    assert len({plots.colour(name) for name in known}) == len(known)
    assert plots.colour("mine").startswith("#")


def test_peers_have_broken_lines():
    assert [plots.dashes(name) for name in ("context", "ital", "random", "mine")] == ["-"] * 4
    assert len({plots.dashes(name) for name in (*PEERS, "ital")}) == 1 + len(PEERS)


def test_what_a_run_is_about(folder):
    one = tables.read(folder)[0]
    assert one.main == "ital"
    renamed = {"context": one.results["entropy"], **one.results}
    assert replace(one, results=renamed).main == "context"
    assert replace(one, results={"random": one.results["random"]}).main is None


def test_colours_can_be_seen():
    """A contrast of 2.5 to 1 at least with the light page and with the dark one."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for name in ("context", *names()):
        own = luminance(plots.colour(name))
        for page in ("#ffffff", "#16181c"):
            light, dark = sorted((own, luminance(page)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) > 2.5, (name, page)


def test_names_are_text_and_nothing_else(tmp_path):
    """A strategy's name with parameters, and a folder's name, may hold what HTML would read."""
    settings = Settings("digits", ("border_div:weight=0.5", "random"), queries=1, rounds=1)
    run(settings, tmp_path / "a<b>&c", 1)
    report.write(tmp_path)
    text = (tmp_path / "report.html").read_text()
    assert "a<b>" not in text
    assert "a&lt;b&gt;" in text


def test_data_that_are_no_longer_here(folder, tmp_path, monkeypatch):
    one = tables.read(folder)[0]
    monkeypatch.setenv("ITAL_DATA", str(tmp_path))
    assert cases(replace(one, settings=replace(one.settings, data="usps"))) == []
    only = {label: one.results[label] for label in ("ital", "entropy")}
    rows = [row for row in one.rows if row.strategy in only]
    assert cases(replace(one, results=only, rows=rows)) == []
