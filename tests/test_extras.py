from __future__ import annotations

import subprocess
import sys

import pytest

from ital.extras import MissingError, needed_for


def without(modules: list[str], *command: str) -> subprocess.CompletedProcess[str]:
    """A program in a Python in which some libraries cannot be imported."""
    blocked = f"import sys; sys.modules.update(dict.fromkeys({modules!r}))"
    return subprocess.run(
        [sys.executable, "-c", f"{blocked}; {command[0]}", *command[1:]],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("arguments", [["--help"], ["index", "."], ["--version"]])
def test_the_command_without_what_it_needs(arguments):
    run = "import ital.__main__; ital.__main__.main()"
    done = without(["typer"], run, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    expected = "the command ital needs typer, which is not installed: pip install '.[app]'"
    assert done.stderr == f"Error: {expected} in a clone of ital\n"


def test_one_command_without_what_it_needs(tmp_path):
    run = "import ital.__main__; ital.__main__.main()"
    done = without(["lancedb"], run, "index", str(tmp_path))
    assert done.returncode == 2
    assert "needs lancedb, which is not installed: pip install '.[app]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_library_without_what_collections_need():
    tried = "import ital; ital.Search; ital.strategies.names(); ital.Collection"
    done = without(["PIL", "lancedb", "pyarrow"], tried)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ital.extras.MissingError: ital.Collection needs ")
    assert last.endswith("which is not installed: pip install '.[app]' in a clone of ital")


def test_a_database_without_its_driver(tmp_path):
    tried = "from ital.server.database import Database; Database('postgresql+psycopg://x/y')"
    done = without(["psycopg"], tried)
    assert "needs psycopg, which is not installed: pip install '.[postgresql]'" in done.stderr


def test_scikit_activeml():
    done = without(["skactiveml"], "import ital.interop.skactiveml")
    assert "pip install '.[skactiveml]'" in done.stderr.splitlines()[-1]


def test_a_run_over_a_cluster(tmp_path):
    out = tmp_path / "runs"
    without_ray("a run over a cluster", "bench", "run", "--out", str(out))
    assert not out.exists()


def test_indexing_over_a_cluster(tmp_path):
    without_ray("indexing over a cluster", "index", str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_fetching_models(tmp_path):
    run = "import ital.__main__; ital.__main__.main()"
    done = without(["huggingface_hub"], run, "models", "get", "dinov2-small")
    assert done.returncode == 2
    expected = "fetching models needs huggingface_hub, which is not installed: pip install"
    assert done.stderr.startswith(f"Error: {expected} '.[models]' in a clone of ital")


def without_ray(what: str, *command: str) -> None:
    run = "import ital.__main__; ital.__main__.main()"
    done = without(["ray"], run, *command, "--ray", "local")
    assert done.returncode == 2
    expected = f"{what} needs ray, which is not installed: pip install '.[ray]'"
    assert done.stderr == f"Error: {expected} in a clone of ital\n"


def test_what_cannot_be_left_out_is_an_error_as_it_is():
    with pytest.raises(ModuleNotFoundError, match="No module named 'ital"), needed_for("a test"):
        import ital.nothing  # noqa: F401
    with pytest.raises(MissingError, match="a test needs matplotlib_, "), needed_for("a test"):
        import matplotlib_.pyplot  # noqa: F401
