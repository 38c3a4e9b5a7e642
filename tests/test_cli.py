from __future__ import annotations

import matplotlib.image
import numpy as np
import pytest
from typer.testing import CliRunner

from ital.cli import app
from ital.evaluation import tune
from ital.evaluation.journal import Journal
from ital.model import Kernel


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


def invoke(*arguments: object):
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "120"})


class TestBench:
    def test_run_and_report(self, tmp_path):
        """The first contact with the evaluation, on the data that everyone has."""
        options = (
            "--strategies",
            "border, random,",
            "--queries",
            1,
            "--rounds",
            2,
            "--out",
            tmp_path,
        )
        result = invoke("bench", "run", "--data", "digits", *options)
        assert result.exit_code == 0, result.output
        assert "10/10" in result.output
        result = invoke("bench", "report", tmp_path)
        assert result.exit_code == 0, result.output
        for word in ("digits", "border", "random", "area as published", "report.html"):
            assert word in result.output
        assert (tmp_path / "report.html").exists()

    def test_parameters_users_and_kernels(self, tmp_path):
        tune.write(Kernel(2.5, noise=0.01), tmp_path / "kernel.json")
        labels = ("border_div:weight=0.25", "ital:posterior=exact,user=blend")
        result = invoke(
            "bench", "run", "--strategies", ";".join(labels), "--queries", 1, "--rounds", 1,
            "--user", "blend", "--pca", 8, "--config", tmp_path / "kernel.json", "--paper-queries",
            "--seed", 3, "--out", tmp_path / "runs",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        settings = Journal(tmp_path / "runs" / "digits-blend-8").settings()
        assert settings.strategies == labels
        assert (settings.length_scale, settings.noise, settings.pca) == (2.5, 0.01, 8)
        assert settings.paper_queries
        assert settings.seed == 3

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--data", "birds"], "data must be one of digits"),
            (["--data", "my[red]birds[/x]"], "got 'my[red]birds[/x]'"),
            (["--strategies", "ital:posterior=exact,random"], "have semicolons between them"),
            (["--strategies", "best"], "strategy must be one of adaptal"),
            (["--user", "me"], "user must be one of perfect"),
            (["--config", "nothing.json"], "kernel must be a file that 'ital tune' wrote"),
            (["--data", "butterflies"], "ITAL_DATA"),
        ],
    )
    def test_mistakes_are_explained(self, tmp_path, monkeypatch, arguments, message):
        monkeypatch.delenv("ITAL_DATA", raising=False)
        result = invoke("bench", "run", *arguments, "--out", tmp_path / "runs")
        assert result.exit_code == 2
        assert message in result.output
        assert "Traceback" not in result.output
        assert not (tmp_path / "runs").exists()

    def test_a_report_of_nothing(self, tmp_path):
        result = invoke("bench", "report", tmp_path)
        assert result.exit_code == 2
        assert "has no settings.json" in result.output

    def test_paper(self, tmp_path, monkeypatch):
        """All experiments, quickly, on small files that pass for the data."""
        rng = np.random.default_rng(0)
        for name, dimension in (("butterflies", 5), ("scenes13", 70)):
            classes = np.arange(80) % 2
            train, test = rng.random((2, 80, dimension)) + classes[:, None]
            arrays = {"X_train": train, "y_train": classes, "X_test": test, "y_test": classes}
            np.savez(tmp_path / f"{name}.npz", **arrays)
        monkeypatch.setenv("ITAL_DATA", str(tmp_path))
        out = tmp_path / "runs"
        result = invoke("bench", "paper", "--quick", "--processes", 1, "--out", out)
        assert result.exit_code == 0, result.output
        names = {path.parent.name for path in out.glob("*/settings.json")}
        users = {"scenes13-aggressive", "scenes13-conservative", "scenes13-blend"}
        assert names == {"butterflies", "scenes13", "scenes13-64"} | users
        assert (out / "scenes13.kernel.json").exists()
        assert "## scenes13-blend" in (out / "report.md").read_text()

    def test_paper_without_data(self, tmp_path, monkeypatch):
        monkeypatch.setenv("ITAL_DATA", str(tmp_path))
        result = invoke("bench", "paper", "--out", tmp_path / "runs")
        assert result.exit_code == 2
        assert "ITAL_DATA must name a folder with data of the paper" in result.output


class TestTune:
    def test_it_prints_what_it_tried_and_writes_the_best(self, tmp_path):
        out = tmp_path / "kernel.json"
        result = invoke("tune", "--data", "digits", "--folds", 3, "--shots", 2, "--out", out)
        assert result.exit_code == 0, result.output
        assert "mean average precision" in result.output
        assert "median heuristic: length scale" in result.output
        assert tune.read(out).keys() == {"length_scale", "variance", "noise"}

    def test_mistakes_are_explained(self, tmp_path):
        result = invoke("tune", "--data", "birds", "--out", tmp_path / "kernel.json")
        assert result.exit_code == 2
        assert "data must be one of digits" in result.output


@pytest.mark.parametrize(
    "command", [["bench"], ["bench", "run"], ["bench", "report"], ["bench", "paper"], ["tune"]]
)
def test_help(command):
    result = invoke(*command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.output
