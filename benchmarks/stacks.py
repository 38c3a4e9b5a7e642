"""How many copies of photographs are found, how many others are taken for copies, at what cost.

    python benchmarks/stacks.py FOLDER --out build/stacks.json

(a) A quarter of the photographs of FOLDER each is copied: compressed at quality 60, half as wide
    and high, cropped by 5 % on every side, and brightened by 20 %. Originals and copies are
    indexed. Printed is which part of the copies is in a stack with its original, and which part of
    all pairs within stacks is wrong: of two photographs that are not of one scene, by `same_scene`,
    which looks at nothing that stacks are found by. Pairs of two photographs are listed, to be
    looked at. Then which part of pairs of photographs, one and the next by name, is of one scene by
    that rule; and all of it for copies that are recoloured: in grey, and with turned hues.
(b) The time of indexing, as a multiple of that without hashes and stacks; in turns, medians.
(c) The time and the memory of finding the stacks of made-up pictures of which a tenth are copies,
    all at once and when a few come later.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # beside this file lies one that is named like the standard library's `select`

import argparse
import itertools
import json
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance

import ital
from ital.collection import index, reader, stacks
from ital.collection.alike import Stacked, least_cosine


def half(image: Image.Image) -> Image.Image:
    return image.resize((image.width // 2, image.height // 2), Image.Resampling.LANCZOS)


def cropped(image: Image.Image) -> Image.Image:
    left, top = round(0.05 * image.width), round(0.05 * image.height)
    return image.crop((left, top, image.width - left, image.height - top))


def brighter(image: Image.Image) -> Image.Image:
    return ImageEnhance.Brightness(image).enhance(1.2)


def turned(image: Image.Image) -> Image.Image:
    hue, saturation, value = image.convert("HSV").split()
    shifted = Image.fromarray(np.asarray(hue) + np.uint8(40))
    return Image.merge("HSV", (shifted, saturation, value)).convert("RGB")


def grey(image: Image.Image) -> Image.Image:
    return image.convert("L")


def same(image: Image.Image) -> Image.Image:
    return image


Copies = dict[str, tuple[Callable[[Image.Image], Image.Image], int]]

COPIES: Copies = {
    "compressed": (same, 60),
    "half": (half, 90),
    "cropped": (cropped, 90),
    "brighter": (brighter, 90),
}
RECOLOURED: Copies = {"grey": (grey, 90), "hue": (turned, 90)}
"""What is done to a copy, and the quality of its JPEG."""


def make(files: list[Path], folder: Path, copies: Copies) -> None:
    """Originals, and one copy of each, of each kind in turn."""
    for name in ("originals", *copies):
        (folder / name).mkdir(parents=True)
    for number, (file, kind) in enumerate(zip(files, itertools.cycle(copies), strict=False)):
        change, quality = copies[kind]
        (folder / "originals" / f"{number:05}.jpg").write_bytes(file.read_bytes())
        with Image.open(file) as image:
            change(image.convert("RGB")).save(folder / kind / f"{number:05}.jpg", quality=quality)


PATCH, REACH, NEAR = 16, 12, 3
"""Pixels of a patch, how far it may have moved, and how far from what most have moved."""


def same_scene(one: Path, other: Path) -> bool:
    """Whether two photographs show one scene, as those of a burst do.

    They are compared in grey, at 96 pixels. Of the patches of each that have corners, more than two
    in five must be in the other, with a correlation of at least 0.7, and all moved alike.
    """
    pixels = []
    for path in (one, other):
        with Image.open(path) as image:
            image.thumbnail((96, 96), Image.Resampling.BOX)
            pixels.append(np.asarray(image.convert("L"), np.float32))
    first, second = pixels
    return first.shape == second.shape and min(refound(first, second), refound(second, first)) > 0.4


def refound(of: np.ndarray, within: np.ndarray) -> float:
    """The part of the patches with corners that are found, at about the same distance."""
    places: list[tuple[float, int, int]] = []
    for y in range(0, of.shape[0] - PATCH + 1, PATCH // 2):
        for x in range(0, of.shape[1] - PATCH + 1, PATCH // 2):
            patch = of[y : y + PATCH, x : x + PATCH]
            down, right = np.gradient(patch)
            tensor = np.array([[down * down, down * right], [down * right, right * right]])
            if np.linalg.eigvalsh(tensor.mean(axis=(2, 3)))[0] < 25:
                continue
            top, left = max(0, y - REACH), max(0, x - REACH)
            area = within[top : y + PATCH + REACH, left : x + PATCH + REACH]
            windows = np.lib.stride_tricks.sliding_window_view(area, (PATCH, PATCH))
            spreads = np.maximum(windows.std(axis=(2, 3)), 1)
            wanted = (patch - patch.mean()) / patch.std() / PATCH**2
            alike = (windows * wanted).sum(axis=(2, 3)) / spreads
            row, column = np.unravel_index(alike.argmax(), alike.shape)
            places.append((float(alike.max()), top + int(row) - y, left + int(column) - x))
    if len(places) < 4:
        return 0.0
    found = np.array(places)
    good = found[:, 0] >= 0.7
    if not good.any():
        return 0.0
    moved = np.abs(found[:, 1:] - np.median(found[good, 1:], axis=0)).max(axis=1)
    return float((good & (moved <= NEAR)).mean())


def found(folder: Path, copies: Copies) -> dict[str, Any]:
    """Which part of the copies is stacked with its original, and which pairs are of two."""
    collection = ital.Collection.open(folder)
    together: set[tuple[str, str]] = set()
    for stack in collection.stacks:
        names = sorted(collection.path(one).relative_to(folder).as_posix() for one in stack)
        together |= set(itertools.combinations(names, 2))
    right = {(one, other) for one, other in together if Path(one).name == Path(other).name}
    kinds = {
        kind: statistics.mean(
            any((*sorted((copy, f"originals/{Path(copy).name}")),) == pair for pair in right)
            for copy in (f"{kind}/{path.name}" for path in (folder / kind).iterdir())
        )
        for kind in copies
    }
    others = sorted(together - right)
    originals = folder / "originals"
    wrong = [
        pair for pair in others if not same_scene(*(originals / Path(one).name for one in pair))
    ]
    return {"copies": kinds, "pairs": len(together), "different": others, "wrong": wrong}


def quality(files: list[Path], folder: Path, copies: Copies) -> dict[str, Any]:
    make(files, folder, copies)
    index(folder)
    report = found(folder, copies)
    for kind, share in report["copies"].items():
        print(f"(a) {kind:10} {share:.1%} of copies in a stack with the original")
    mean = statistics.mean(report["copies"].values())
    share = len(report["wrong"]) / max(1, report["pairs"])
    print(f"(a) {mean:.1%} of all copies")
    print(
        f"(a) {share:.2%} of {report['pairs']} pairs within stacks are wrong; of two photographs:"
    )
    for pair in report["different"]:
        print("   ", *pair, "(wrong)" if pair in report["wrong"] else "(of one scene)")
    return report


def neighbours(files: list[Path]) -> float:
    """The part of pairs of files, one after the other, that is of one scene; of every fifth."""
    pairs = list(itertools.pairwise(files))[::5]
    share = statistics.mean(itertools.starmap(same_scene, pairs))
    print(f"(a) {share:.1%} of {len(pairs)} photographs and the next are of one scene")
    return share


def cost(folder: Path, place: Path, repeats: int) -> dict[str, float]:
    """Seconds of indexing with stacks, and without."""
    hashed, updated = reader.phash, stacks.update
    taken: dict[str, list[float]] = {"with": [], "without": []}
    index(folder, place / "warm")
    for number in range(repeats):
        for way, seconds in taken.items():
            if way == "without":
                reader.phash, stacks.update = lambda image: 0, lambda store, fingerprint: None
            begun = time.perf_counter()
            index(folder, place / f"{way}-{number}")
            seconds.append(time.perf_counter() - begun)
            reader.phash, stacks.update = hashed, updated
    ratios = [one / other for one, other in zip(taken["with"], taken["without"], strict=True)]
    medians = {way: statistics.median(seconds) for way, seconds in taken.items()}
    medians["ratio"] = statistics.median(ratios)
    print(f"(b) indexing takes {medians['ratio']:.3f} times as long with stacks as without")
    return medians


def scale(size: int, dimension: int, late: int) -> dict[str, float]:
    """Seconds and megabytes for made-up pictures, at once and as some come later."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((size, dimension), np.float32)
    # The bits of pictures are not independent: as of photographs, one in a thousand pairs of hashes
    # differs in 16 bits or fewer.
    mixing = rng.standard_normal((40, 64), np.float32)
    signs = rng.standard_normal((size, 40), np.float32) @ mixing > 0
    hashes = np.packbits(signs, axis=1).view(np.uint64).ravel()
    copies = rng.choice(size, size // 10, replace=False)
    originals = rng.integers(0, size, len(copies))
    hashes[copies] = hashes[originals]
    vectors[copies] = vectors[originals]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    tracemalloc.start()
    known = np.ones(size, bool)
    begun = time.perf_counter()
    least = least_cosine(hashes, known, vectors)
    limit = time.perf_counter()
    stacked = Stacked(hashes, known, vectors, least, lambda row, other: np.inf)
    stacks.join_all(stacked, np.arange(size - late))
    first = time.perf_counter()
    stacks.join_all(stacked, np.arange(size - late, size))
    last = time.perf_counter()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    report = {
        "limit": limit - begun,
        "seconds": first - begun,
        "late": last - first,
        "megabytes": peak / 1e6,
        "centres": len(np.unique(stacked.centres)),
    }
    print(
        f"(c) {size} pictures: {report['seconds']:.1f} s, {late} that come later "
        f"{report['late']:.2f} s; {report['megabytes']:.0f} MB; {report['centres']} stacks"
    )
    return report


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=200_000)
    parser.add_argument("--dimension", type=int, default=1280)
    parser.add_argument("--late", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="where to write JSON")
    arguments = parser.parse_args()
    files = sorted(
        path
        for path in arguments.folder.rglob("*")
        if path.suffix.lower() in (".jpg", ".jpeg", ".png") and ".ital" not in path.parts
    )
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        report: dict[str, Any] = {
            "copies": quality(files, place / "copies", COPIES),
            "neighbours": neighbours(files),
            "recoloured": quality(files, place / "recoloured", RECOLOURED),
            "cost": cost(place / "copies" / "originals", place, arguments.repeats),
        }
    report["scale"] = scale(arguments.size, arguments.dimension, arguments.late)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
