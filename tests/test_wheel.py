"""What people install: the wheel alone, in an empty environment, where there is no Node.js."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest
from making import draw

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", folder, ROOT]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def program(wheel, tmp_path_factory) -> Path:
    """`ital`, as `pip install ital[app]` gives it."""
    place = tmp_path_factory.mktemp("empty") / "venv"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    constraints = ROOT / "constraints.txt"
    subprocess.run(
        [place / "bin" / "pip", "install", "--no-compile", "-c", constraints, f"{wheel}[app]"],
        check=True,
        capture_output=True,
    )
    return place / "bin" / "ital"


def test_what_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        page = archive.read("ital/server/page/index.html").decode()
    linked = re.findall(r'(?:src|href)="/?(assets/[^"]+)"', page)
    assert linked
    for asset in linked:
        assert f"ital/server/page/{asset}" in names
    assert sum(name.startswith("ital/collection/openmoji/") for name in names) > 0
    roots = {name.split("/")[0] for name in names}
    assert {root for root in roots if not root.endswith(".dist-info")} == {"ital"}
    assert not [name for name in names if "node_modules" in name or name.endswith(".svelte")]


def test_it_works_from_an_empty_environment(program, tmp_path):
    for number in range(6):
        draw(tmp_path / "pictures" / f"{number}.png", number)
    path = str(program.parent)
    assert shutil.which("node", path=path) is None
    kept = {name: value for name, value in os.environ.items() if name.startswith("XDG_")}
    environment = {"PATH": path, "HOME": str(tmp_path), **kept}
    run = {"env": environment, "cwd": tmp_path, "text": True}
    done = subprocess.run([program, "index", "pictures"], **run, check=True, stdout=subprocess.PIPE)
    assert "6 pictures: 6 new" in done.stdout
    database = f"sqlite:///{tmp_path}/s.sqlite"
    command = [program, "serve", "pictures", "--port", "0", "--database", database]
    server = subprocess.Popen(command, **run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        said = server.stdout.readline()
        address = re.search(r"http://\S+", said).group()
        with httpx.Client(base_url=address, timeout=60) as client:
            page = client.get("/").text
            for asset in re.findall(r'(?:src|href)="(/?assets/[^"]+)"', page):
                assert client.get(asset).status_code == 200
            (collection,) = client.get("/api/v1/collections").json()
            body = {"collection": collection["id"], "relevant": [1]}
            state = client.post("/api/v1/searches", json=body)
            assert state.status_code == 201
            assert len(state.json()["batch"]) == 4
    finally:
        server.send_signal(signal.SIGINT)  # Ctrl-C
        rest, _ = server.communicate(timeout=60)
    assert server.returncode == 0
    assert rest == ""
