from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import matplotlib.image
import numpy as np
import pytest
from making import draw
from networks import means
from typer.testing import CliRunner

import ital
from ital.cli import app
from ital.evaluation import tune
from ital.evaluation.journal import Journal
from ital.kernel import Kernel


def invoke(*arguments: object):
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "120"})


class TestDemo:
    def test_prints_rounds_and_saves_a_picture(self, tmp_path):
        picture = tmp_path / "demo.png"
        result = invoke("demo", "--rounds", 2, "--batch", 3, "--out", picture)
        assert result.exit_code == 0, result.output
        for word in ("plant-flower", "the example", "context", "topscoring", picture.name):
            assert word in result.output
        height, width, _ = matplotlib.image.imread(picture).shape
        assert width > 1000
        assert height > 200
        result = invoke("demo", "--like", "tigr", "--out", picture)
        assert result.exit_code == 2
        assert "tiger" in result.output

    def test_the_picture_is_where_it_was_asked_for(self, tmp_path):
        link = tmp_path / "link"
        link.symlink_to("picture")
        result = invoke("demo", "--rounds", 1, "--batch", 1, "--out", link)
        assert result.exit_code == 0, result.output
        assert link.is_symlink()
        assert (tmp_path / "picture").read_bytes()[:4] == b"\x89PNG"
        assert {one.name for one in tmp_path.iterdir()} == {"link", "picture"}

    def test_help_answers(self):
        result = invoke("demo", "--help")
        assert result.exit_code == 0
        assert "sample of 2,465 emoji" in result.output


class TestCollections:
    @pytest.fixture
    def folder(self, tmp_path):
        for number in range(6):
            draw(tmp_path / "pictures" / f"{number}.png", number)
        return tmp_path / "pictures"

    def test_index(self, folder):
        result = invoke("index", folder)
        assert result.exit_code == 0, result.output
        assert "6 pictures: 6 new or changed" in result.output
        assert invoke("index", folder, "--report").output == "Nothing was skipped.\n"
        (folder / "bad\x1b[31m.jpg").write_bytes(b"no picture")
        result = invoke("index", folder)
        assert result.exit_code == 0
        assert "6 unchanged" in result.output
        assert "skipped bad\\x1b[31m.jpg: not a picture" in result.output
        assert invoke("index", folder, "--strict").exit_code == 3
        result = invoke("index", folder, "--report")
        assert result.exit_code == 0
        assert "not a picture" in result.output
        assert "unchanged" not in result.output
        assert invoke("index", folder, "--report", "--strict").exit_code == 3

    def test_index_with_other_models(self, folder, tmp_path):
        assert (
            invoke("index", folder, "--to", tmp_path / "store", "--model", "lite1").exit_code == 0
        )
        model = means(tmp_path / "m.onnx", ("b", 3, "h", "w"), outputs=("a", "b"))
        options = ("--model", model, "--size", 40, "--normalise", "half", "--output", "b")
        result = invoke("index", folder, "--to", tmp_path / "store", *options)
        assert result.exit_code == 0, result.output
        assert ital.Collection.open(tmp_path / "store").features().shape == (6, 3)
        options += ("--pca", 2, "--store", "float16")
        result = invoke("index", folder, "--to", tmp_path / "store", *options)
        assert result.exit_code == 0, result.output
        found = ital.Collection.open(tmp_path / "store").features()
        assert found.shape == (6, 2)
        assert found.dtype == np.float16

    def test_large_collections_are_told_how_to_take_less(self, folder, monkeypatch):
        words = "--pca 128 --store float16: in memory, each takes 256 bytes instead of 5120"
        assert words not in invoke("index", folder).stderr
        monkeypatch.setattr("ital.cli.collections._MANY", 6)
        assert words in invoke("index", folder).stderr
        for asked in (("--pca", 0), ("--store", "float32"), ("--store", "float16"), ()):
            assert invoke("index", folder, *asked).stderr == ""

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--model", "none.onnx"), "or an ONNX file, got 'none.onnx'"),
            (("--size", 300), "need --model"),
            (("--crop", 0.5), "need --model"),
            (("--size", 300, "--model", "lite0"), "comes with its size"),
            (("--pca", 7), "pca must be at most 6"),
            (("--store", "int8"), "store must be float32 or float16, got 'int8'"),
        ],
    )
    def test_bad_arguments(self, folder, arguments, words):
        result = invoke("index", folder, *arguments)
        assert result.exit_code == 2
        assert words in " ".join(result.output.split())

    def test_no_folder(self, tmp_path):
        result = invoke("index", tmp_path / "none")
        assert result.exit_code == 2
        assert "folder must be a folder of pictures" in result.output
        assert invoke("index", tmp_path, "--report").exit_code == 2

    def test_nothing_but_broken_files(self, tmp_path):
        (tmp_path / "pictures").mkdir()
        (tmp_path / "pictures" / "a.jpg").write_bytes(b"no picture")
        assert invoke("index", tmp_path / "pictures").exit_code == 0
        result = invoke("index", tmp_path / "pictures", "--report")
        assert "skipped a.jpg: not a picture" in result.output

    def test_interrupted(self, folder, monkeypatch):
        def interrupt(*arguments):
            raise KeyboardInterrupt

        monkeypatch.setattr("ital.collection.reader.Reader.read", interrupt)
        result = invoke("index", folder)
        assert result.exit_code == 130
        assert "Run it again to go on" in result.output

    def test_import_and_export(self, folder, tmp_path):
        np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(6, 4)))
        names = tmp_path / "names.txt"
        names.write_text("".join(f"{number}.png\n" for number in range(6)))
        store = tmp_path / "store"
        result = invoke(
            *("import", tmp_path / "x.npy", "--to", store, "--root", folder, "--paths", names),
            *("--store", "float16"),
        )
        assert result.exit_code == 0, result.output
        assert "6 pictures of 4 dimensions" in result.output
        assert "not there" not in result.output
        search = ital.Collection.open(store).search()
        search.query(relevant=[2], irrelevant=[5])
        search.save(tmp_path / "search.json")
        out = tmp_path / "found.csv"
        result = invoke("export", store, tmp_path / "search.json", "--out", out, "--top", 3)
        assert result.exit_code == 0, result.output
        assert len(out.read_text().splitlines()) == 4
        out = tmp_path / "copies"
        options = ("--format", "copies", "--threshold", 0.9)
        result = invoke("export", store, tmp_path / "search.json", "--out", out, *options)
        assert result.exit_code == 0, result.output
        assert (out / "1-1.png").exists(), "what was asked for comes first"
        assert invoke("export", store, tmp_path / "search.json", "--out", out).exit_code == 2
        assert invoke("import", tmp_path / "x.npy", "--to", tmp_path / "s").exit_code == 2

    def test_import_without_the_pictures(self, folder, tmp_path):
        np.save(tmp_path / "x.npy", np.eye(3))
        names = tmp_path / "names.txt"
        names.write_text("0.png\nno\x1bne.png\nnone.png\n")
        command = ("import", tmp_path / "x.npy", "--paths", names, "--to", tmp_path / "store")
        result = invoke(*command, "--root", tmp_path / "nope")
        assert result.exit_code == 2
        assert "none of 3 pictures found there" in result.output
        result = invoke(*command, "--root", folder)
        assert result.exit_code == 0
        assert "2 of 3 pictures are not there, the first of them no\\x1bne.png" in result.stderr

    @pytest.fixture
    def search(self, folder, tmp_path):
        """A search over the folder that was saved."""
        invoke("index", folder)
        search = ital.Collection.open(folder).search()
        search.query(relevant=[2])
        search.save(tmp_path / "search.json")
        return tmp_path / "search.json"

    def test_export_to_standard_output(self, folder, search, tmp_path):
        (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
        export = ("export", folder, search, "--out")
        invoke(*export, tmp_path / "found.csv")
        program = Path(sys.executable).with_name("ital")
        command = [program, *export, tmp_path / "stdout"]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        assert result.stdout == (tmp_path / "found.csv").read_text()
        assert "6 pictures" in result.stderr

    def test_export_of_names_with_line_breaks(self, folder, tmp_path):
        draw(folder / "line\nbreak.png", 9)
        invoke("index", folder)
        search = ital.Collection.open(folder).search()
        search.query(relevant=[2])
        search.save(tmp_path / "search.json")
        out = tmp_path / "found"
        export = ("export", folder, tmp_path / "search.json", "--out", out, "--format")
        result = invoke(*export, "paths")
        assert result.exit_code == 0
        assert len(out.read_text().splitlines()) == 6
        words = " ".join(result.stderr.split())
        assert "6 pictures" in words
        assert "1 left out for line breaks in their paths" in words
        assert "line\\nbreak.png" in words
        assert "--format paths0" in words
        result = invoke(*export, "paths0")
        assert "7 pictures" in result.stderr
        assert "left out" not in result.stderr
        assert str(folder / "line\nbreak.png") in out.read_text().split("\0")

    def test_export_does_not_replace_the_search(self, folder, search, tmp_path):
        before = search.read_bytes()
        (tmp_path / "link").symlink_to("search.json")
        for out in ("search.json", "link"):
            result = invoke("export", folder, search, "--out", tmp_path / out, "--format", "json")
            assert result.exit_code == 2
            assert "must not replace the search" in " ".join(result.output.split())
        assert search.read_bytes() == before

    def test_export_of_a_search_of_another_collection(self, search, tmp_path):
        draw(tmp_path / "others" / "a.png", 50)
        draw(tmp_path / "others" / "b.png", 51)
        invoke("index", tmp_path / "others")
        export = ("export", tmp_path / "others", search, "--out")
        result = invoke(*export, tmp_path / "found.csv")
        assert result.exit_code == 2
        assert "was saved over" in result.output
        assert not (tmp_path / "found.csv").exists()
        assert invoke(*export, tmp_path / "found.csv", "--adopt").exit_code == 0
        assert "b.png" in (tmp_path / "found.csv").read_text()


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
            "--processes",
            1,
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
            "--seed", 3, "--out", tmp_path / "runs", "--base-rate", "0.1", "--processes", 1,
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        settings = Journal(tmp_path / "runs" / "digits-blend-rate-0.1-8").settings()
        assert settings.base_rate == 0.1
        assert settings.strategies == labels
        assert (settings.length_scale, settings.noise, settings.pca) == (2.5, 0.01, 8)
        assert settings.paper_queries
        assert "The paper has no queries for digits" in result.output
        assert settings.seed == 3

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--data", "birds"], "data must be one of digits"),
            (["--data", "my[red]birds[/x]"], "got 'my[red]birds[/x]'"),
            (["--strategies", "ital:posterior=exact,random"], "have semicolons between them"),
            (["--strategies", "best"], "strategy must be one of adaptal"),
            (["--user", "me"], "user must be one of perfect"),
            (["--base-rate", "rare"], "base_rate must be 'learn', a share"),
            (["--base-rate", "1.5"], "base_rate must be 'learn', a share"),
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
        assert result.stdout == "", "there are bars above the error"
        assert not (tmp_path / "runs").exists()

    def test_peers_and_the_headline(self, tmp_path):
        for seed in (0, 1):
            rng = np.random.default_rng(seed)
            classes = np.arange(40) % 2
            path = tmp_path / f"data{seed}.npz"
            np.savez(path, X=rng.random((40, 3)) + classes[:, None], y=classes)
            result = invoke(
                "bench", "run", "--data", path, "--strategies", "border,centroid,svm,forest",
                "--queries", 2, "--rounds", 2, "--processes", 1, "--out", tmp_path / "runs",
            )  # fmt: skip
            assert result.exit_code == 0, result.output
        result = invoke("bench", "report", tmp_path / "runs", "--headline", "svm, border")
        assert result.exit_code == 0, result.output
        assert (tmp_path / "runs" / "headline.png").exists()
        assert "headline.png" in result.output
        result = invoke("bench", "report", tmp_path / "runs", "--headline", "best")
        assert result.exit_code == 2
        assert "headline must name strategies of runs" in result.output

    def test_all_are_strategies_and_peers(self, tmp_path, monkeypatch):
        asked = []
        monkeypatch.setattr(
            "ital.evaluation.runner.run", lambda settings, *rest: asked.append(settings)
        )
        assert invoke("bench", "run", "--out", tmp_path).exit_code == 0
        assert asked[0].strategies == (*ital.strategies.names(), "centroid", "svm", "forest")

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


def test_the_version():
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.output == f"ital {ital.__version__}\n"


@pytest.mark.parametrize(
    "command", [["bench"], ["bench", "run"], ["bench", "report"], ["bench", "paper"], ["tune"]]
)
def test_help(command):
    result = invoke(*command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.output


class TestServe:
    def test_what_is_not_given_is_in_the_environment(self, tmp_path, monkeypatch):
        started = []
        monkeypatch.setattr("ital.server.serve", lambda *given: started.append(given))
        monkeypatch.setenv("ITAL_HOST", "::1")
        monkeypatch.setenv("ITAL_ALLOWED_HOSTS", '["pictures.example"]')
        assert invoke("serve", tmp_path).exit_code == 0
        assert invoke("serve", tmp_path, "--host", "127.0.0.1", "--allow-host", "x").exit_code == 0
        settings = [given[1] for given in started]
        assert [one.host for one in settings] == ["::1", "127.0.0.1"]
        assert [one.allowed_hosts for one in settings] == [("pictures.example",), ("x",)]

    def test_bad_arguments(self, tmp_path):
        (tmp_path / "file").touch()
        for arguments, problem in (
            ([tmp_path / "none"], "must be a folder"),
            ([tmp_path / "file"], "must be a folder"),
            ([tmp_path, tmp_path], "once"),
            ([tmp_path, tmp_path.parent, "--to", tmp_path], "one folder only"),
            ([tmp_path, "--token", "short"], "token: "),
            ([tmp_path, "--port", "0", "--database", "mongo://x"], "database cannot be used"),
        ):
            result = invoke("serve", *arguments)
            assert result.exit_code == 2
            assert problem in result.output
            assert "Traceback" not in result.output

    @pytest.mark.parametrize(
        ("options", "terminal", "display", "opened"),
        [
            ([], True, ":0", True),
            ([], True, "", False),
            ([], False, ":0", False),
            (["--browser"], False, "", True),
            (["--no-browser"], True, ":0", False),
        ],
    )
    def test_the_page_is_opened_where_there_is_a_screen(
        self, tmp_path, monkeypatch, options, terminal, display, opened
    ):
        shown = []
        monkeypatch.setattr("webbrowser.open", shown.append)
        monkeypatch.setattr("ital.server.serve", lambda *given: given[3]("http://here/"))
        monkeypatch.setattr(
            "ital.cli.serve.sys",
            SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: terminal), platform="linux"),
        )
        monkeypatch.setenv("DISPLAY", display)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        assert invoke("serve", tmp_path, *options).exit_code == 0
        assert shown == (["http://here/"] if opened else [])
