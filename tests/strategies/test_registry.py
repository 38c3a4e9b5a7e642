from __future__ import annotations

import subprocess
import sys

import pytest

from ital import Search, strategies
from ital.strategies import Border, Scored, Strategy, register, registry


@pytest.fixture
def own_names(monkeypatch):
    """Names that a test registers go with it."""
    monkeypatch.setattr(registry, "_STRATEGIES", dict(registry._STRATEGIES))


def defined(name: str) -> type[Strategy]:
    class Lowest(Scored):
        def scores(self, model, images):
            return -images.astype(float)

    Lowest.name = name
    return Lowest


class TestRegister:
    def test_by_name_from_then_on(self, own_names):
        register(defined("lowest"))
        assert "lowest" in strategies.names()
        search = Search([[0.0], [1.0], [2.0], [3.0]], "lowest")
        search.query(relevant=[1])
        assert search.suggest(2).tolist() == [0, 2]

    def test_a_class_may_be_defined_again(self, own_names):
        register(defined("lowest"))
        again = register(defined("lowest"))
        assert type(strategies.create("lowest")) is again

    @pytest.mark.usefixtures("own_names")
    def test_refuses_the_name_of_another(self):
        with pytest.raises(ValueError, match=r"'border' is that of ital.*\.Border"):
            register(defined("border"))
        assert type(strategies.create("border")) is Border

    @pytest.mark.parametrize("thing", [Border(), int, "border", lambda: None])
    def test_refuses_what_is_no_class_of_strategies(self, thing):
        with pytest.raises(TypeError, match=r"register takes a subclass of ital\.strategies"):
            register(thing)

    def test_refuses_a_class_without_select(self):
        with pytest.raises(TypeError, match="strategy Nothing must define select"):
            register(type("Nothing", (Strategy,), {"name": "nothing"}))

    @pytest.mark.parametrize("name", [None, "", 3])
    def test_refuses_a_class_without_a_name(self, name):
        with pytest.raises(TypeError, match="strategy Lowest must have a name"):
            register(defined(name))


class TestCreate:
    def test_every_way_to_say_it(self):
        for strategy in ("border_div", ("border_div", {"weight": 0.5})):
            assert strategies.create(strategy) == strategies.BorderDiversity(weight=0.5)
        instance = Border()
        assert strategies.create(instance) is instance

    def test_refuses_parameters_that_it_does_not_have(self):
        with pytest.raises(TypeError, match=r"strategy 'border' does not take \{'weight': 1\}"):
            strategies.create(("border", {"weight": 1}))


OWN = """
from ital.strategies import Scored, register

@register
class Lowest(Scored):
    name = "lowest"
    summary = "The first pictures."

    def scores(self, model, images):
        return -images.astype(float)
"""


class TestEntryPoints:
    @pytest.fixture
    def installed(self, tmp_path, monkeypatch):
        """A package of someone else's, with a strategy, and one that cannot be imported."""
        (tmp_path / "own.py").write_text(OWN)
        (tmp_path / "broken.py").write_text("import nothing_of_that_name")
        for name in ("own", "broken"):
            about = tmp_path / f"{name}-1.0.dist-info"
            about.mkdir()
            (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            (about / "entry_points.txt").write_text(f"[ital.strategies]\nlowest = {name}\n")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, check=True
        )

    def test_what_is_installed_is_known(self, installed, tmp_path):
        done = self.run("-c", "import ital; print('lowest' in ital.strategies.names())")
        assert done.stdout == "True\n"
        assert done.stderr.count("the strategy lowest of broken is left out") == 1
        found = "from ital.strategies import create, describe; create('lowest')"
        assert (
            self.run("-c", f"{found}; print(describe('lowest'))").stdout == "The first pictures.\n"
        )

    def test_in_the_command_line(self, installed, tmp_path):
        command = ["-m", "ital", "bench", "run", "--data", "digits", "--strategies", "lowest"]
        options = ["--queries", "1", "--rounds", "1", "--processes", "2"]
        self.run(*command, *options, "--out", str(tmp_path / "runs"))
        assert list(tmp_path.glob("runs/digits*/results/lowest.jsonl"))
