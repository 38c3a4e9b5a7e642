from __future__ import annotations

import matplotlib.image
from typer.testing import CliRunner

from ital.cli import app


def test_demo_prints_rounds_and_saves_a_picture(tmp_path):
    picture = tmp_path / "demo.png"
    arguments = ["demo", "--rounds", "2", "--batch", "3", "--out", str(picture)]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    for word in ("the query", "random", "topscoring", str(picture.name)):
        assert word in result.output
    height, width, _ = matplotlib.image.imread(picture).shape
    assert width > 1000
    assert height > 200


def test_help_answers():
    result = CliRunner().invoke(app, ["demo", "--help"], env={"COLUMNS": "120"})
    assert result.exit_code == 0
    assert "handwritten digits" in result.output


def test_unknown_queries_are_refused():
    result = CliRunner().invoke(app, ["demo", "--query", "5000"])
    assert result.exit_code == 2
