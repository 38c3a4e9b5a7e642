"""The README's commands, in an empty environment, where there is no Node.js."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import Distribution, distribution
from pathlib import Path

import httpx
import pytest
import terminals
from making import draw
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent


def commands() -> list[str]:
    """All that the README tells people to type."""
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return [line.partition("  #")[0].strip() for line in "".join(blocks).splitlines()]


def written(begin: str) -> str:
    """The one command of the README that begins so."""
    (found,) = (command for command in commands() if command.startswith(begin))
    return found


def declared(lines: Iterable[str], extras: Iterable[str] = ()) -> Iterator[Requirement]:
    """Those of some requirements that hold here, with some extras."""
    for requirement in map(Requirement, lines):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": one}) for one in ("", *extras)):
            yield requirement


def needed(extras: list[str]) -> dict[str, Distribution]:
    """What the project says that it needs, and what that needs in turn, as it is installed here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"]]
    lines += [line for one in extras for line in project["optional-dependencies"][one]]
    found: dict[str, Distribution] = {}
    waiting, known = list(declared(lines)), set()
    while waiting:
        one = waiting.pop()
        if str(one) not in known:
            known.add(str(one))
            here = found[canonicalize_name(one.name)] = distribution(one.name)
            waiting += declared(here.requires or (), one.extras)
    return found


def link(distributions: Iterable[Distribution], site: Path) -> None:
    """Have distributions in another environment as well, without their programs."""
    for one in distributions:
        for file in one.files or ():
            if ".." not in file.parts:
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                (site / file).symlink_to(one.locate_file(file))


@pytest.fixture
def environment(tmp_path_factory) -> dict[str, str]:
    """That of a person who has installed what the README says, and has a few pictures.

    Libraries are not fetched once more: pip finds those there that the project declares, and no
    others, and fetches what is still missing.
    """
    home = tmp_path_factory.mktemp("home")
    subprocess.run([sys.executable, "-m", "venv", home / "venv"], check=True)
    (site,) = home.glob("venv/lib/python*/site-packages")
    command = written("pip install")
    extras = re.findall(r"\w+", command.partition("[")[2])
    link(needed(extras).values(), site)
    for number in range(6):
        draw(home / "Pictures" / f"{number}.png", number)
    kept = {name: value for name, value in os.environ.items() if name.startswith("XDG_")}
    found = {"PATH": f"{home}/venv/bin:{os.defpath}", "HOME": str(home), **kept}
    # pip and npm find their way to the registries as they always do here.
    install = dict(os.environ) | {"PATH": found["PATH"], "PIP_NO_COMPILE": "1"}
    install["PIP_CONSTRAINT"] = str(ROOT / "constraints.txt")
    run(command, install, ROOT)
    return found


def run(command: str, environment: dict[str, str], folder: Path) -> str:
    """What a command of the shell prints."""
    done = subprocess.run(
        command,
        shell=True,
        env=environment,
        cwd=folder,
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@contextmanager
def serving(command: str, environment: dict[str, str], folder: Path) -> Iterator[httpx.Client]:
    """A command that serves until Ctrl-C, which it obeys without a word."""
    server = subprocess.Popen(
        command,
        shell=True,
        env=environment,
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert server.stdout is not None
    try:
        said = ""
        while (address := re.search(r"http://\S+", said)) is None:
            line = server.stdout.readline()
            assert line, said
            said += line
        with httpx.Client(base_url=address.group(), timeout=60) as client:
            yield client
    finally:
        os.killpg(server.pid, signal.SIGINT)
        rest, _ = server.communicate(timeout=60)
    assert "Traceback" not in rest


TRIED = [
    "make demo",
    "make test",
    "pip install",
    "ital index",
    "ital find",
    "ital ask",
    "ital serve",
]
TRIED += ["ital bench run", "ital bench report"]


def test_every_command_is_tried_here():
    assert [written(begin) for begin in TRIED] == commands()


def test_make():
    """Both commands, where all is set up: one serves, and the other is what runs this test."""
    ready = "-o .venv/app -o .venv/ready -o .venv/system"
    environment = dict(os.environ) | {"ITAL_PORT": "0"}
    with serving(f"{written('make demo')} {ready}", environment, ROOT) as client:
        (collection,) = client.get("/api/v1/collections").json()
        assert collection["pictures"] == 2465
    planned = run(f"{written('make test')} -n {ready}", environment, ROOT)
    assert "ruff check" in planned
    assert "-m pytest " in planned


def check_what_is_installed(environment: dict[str, str]) -> None:
    (place,) = Path(environment["HOME"]).glob("venv/lib/python*/site-packages/ital-*.dist-info")
    names = [str(file) for file in Distribution.at(place).files or ()]
    page = (place.parent / "ital/server/page/index.html").read_text()
    linked = re.findall(r'(?:src|href)="/?(assets/[^"]+)"', page)
    assert linked
    for asset in linked:
        assert f"ital/server/page/{asset}" in names
    assert sum(name.startswith("ital/collection/openmoji/") for name in names) > 0
    roots = {name.split("/")[0] for name in names}
    assert {root for root in roots if not root.endswith(".dist-info")} == {"..", "ital"}
    assert not [name for name in names if "node_modules" in name or name.endswith(".svelte")]


def check_pictures_of_ones_own(environment: dict[str, str], tmp_path: Path) -> None:
    assert shutil.which("node", path=environment["PATH"].partition(":")[0]) is None
    assert "6 pictures: 6 new" in run(written("ital index"), environment, tmp_path)
    draw(tmp_path / "rose.jpg", 2)
    found = run(written("ital find"), environment, tmp_path)
    assert found.count("Pictures/") == 6
    command = ["sh", "-c", written("ital ask")]
    sixel = b"\x1b[?62;4;6c"  # a terminal that can show pictures
    terminals.run(command, sixel, b"yq", env=environment, cwd=tmp_path)
    assert len(json.loads((tmp_path / "roses.json").read_text())["events"]) == 2
    database = {"ITAL_DATABASE": f"sqlite:///{tmp_path}/s.sqlite", "ITAL_PORT": "0"}
    with serving(written("ital serve"), environment | database, tmp_path) as client:
        page = client.get("/").text
        for asset in re.findall(r'(?:src|href)="(/?assets/[^"]+)"', page):
            assert client.get(asset).status_code == 200
        (collection,) = client.get("/api/v1/collections").json()
        body = {"collection": collection["id"], "relevant": [1]}
        state = client.post("/api/v1/searches", json=body)
        assert state.status_code == 201
        assert len(state.json()["batch"]) == 4


def check_comparing_strategies(environment: dict[str, str], tmp_path: Path) -> None:
    run(written("ital bench run"), environment, tmp_path)
    assert "random" in run(written("ital bench report"), environment, tmp_path)
    assert (tmp_path / "runs" / "report.html").exists()


def test_in_an_empty_environment(environment, tmp_path):
    check_what_is_installed(environment)
    check_pictures_of_ones_own(environment, tmp_path)
    check_comparing_strategies(environment, tmp_path)
