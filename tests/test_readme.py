from __future__ import annotations

import re
from pathlib import Path

from ital import Collection
from ital.cli import app
from ital.strategies import registry

ROOT = Path(__file__).parents[1]


def examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def run(example: str) -> None:
    exec(compile(example, "example", "exec", dont_inherit=True), {"__name__": "__main__"})


def test_the_example_runs_as_written(capsys):
    (example,) = examples("README.md")
    run(example)
    assert re.fullmatch(r"\[( *\d+){5}\]\n", capsys.readouterr().out)


def test_the_examples_on_strategies(capsys, monkeypatch):
    monkeypatch.setattr(registry, "_STRATEGIES", dict(registry._STRATEGIES))
    by_name, own, contract, loop = examples("docs/strategies.md")
    run(by_name)
    run(own)
    assert re.fullmatch(r"True \[( *\d+){4}\]\n", capsys.readouterr().out)
    run(contract)
    run(loop)
    assert float(capsys.readouterr().out) > 0.95


def test_the_example_on_audits(capsys):
    (example,) = examples("docs/audit.md")
    run(example)
    sentence, advice = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"Of the [\d,]+ you would take, .* right; you would miss .*\.", sentence)
    assert "more answers would tell" in advice


def test_the_example_on_evaluation(capsys):
    (example,) = examples("docs/evaluation.md")
    run(example)
    assert 0.3 < float(capsys.readouterr().out) < 1


def test_the_example_on_labels(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (example,) = examples("docs/labels.md")
    run(example)
    *told, part = capsys.readouterr().out.splitlines()
    assert told[:3] == [
        "0 query 3.jpg yes None",
        "0 query 5.jpg no None",
        "1 answer 7.jpg unsure None",
    ]
    assert all(line.endswith("no context") for line in told[3:])
    assert part in ("train", "val")


def test_the_example_on_serving():
    (example,) = examples("docs/serve.md")
    run(f"{example}\nassert len(app.state.server.served) == 1\napp.state.server.close()")


def test_all_commands_are_listed():
    page = (ROOT / "docs" / "cli.md").read_text()
    commands = {info.name or info.callback.__name__ for info in app.registered_commands}
    for part in app.registered_groups:
        own = part.typer_instance
        commands |= {info.name or info.callback.__name__ for info in own.registered_commands}
        commands |= {group.name for group in own.registered_groups}
    assert {"find", "labels", "bench", "index"} <= commands
    for command in commands:
        assert f"`ital {command}" in page


def test_every_link_to_a_file_leads_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_example_on_words(shapes):
    words, *_ = examples("docs/collections.md")
    exec(words, {"collection": Collection.open(shapes)})


def test_the_examples_on_collections(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _, whole, saved, arrays, source, imported, exported = examples("docs/collections.md")
    run(f"{whole}\n{saved}")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2465 (")
    assert lines[1] == "131 131 []"
    assert "red-apple-1F34E" in lines[-1]
    run(arrays)
    run(source)
    run(imported)
    run(exported)
    assert "2,b.jpg" in capsys.readouterr().out
