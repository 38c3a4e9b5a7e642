"""Several searches over a collection as one labelled data set, with a class for each."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

import numpy as np
from PIL import Image

from ital import checks, insight
from ital.collection import pictures
from ital.collection.collection import Collection
from ital.collection.export import FOLDERS, check_folder, numbered
from ital.collection.scan import printable
from ital.durable import write_whole
from ital.search import Search

TRAIN, VAL = "train", "val"
"""What the parts of a data set are called, by torchvision, Ultralytics and Hugging Face alike."""

_BOTH = {TRAIN, VAL}

_ENDINGS = {
    "JPEG": (".jpg", ".jpeg"),
    "PNG": (".png",),
    "WEBP": (".webp",),
    "GIF": (".gif",),
    "TIFF": (".tif", ".tiff"),
    "BMP": (".bmp",),
    "HEIF": (".heic", ".heif"),
    "AVIF": (".avif",),
}
"""How files of a kind are called. Readers of data sets go by that, and not by the content."""


class ConflictError(ValueError):
    """Pictures that several classes claim, with their names."""

    def __init__(self, claims: Mapping[int, Sequence[str]]) -> None:
        self.claims = claims
        image, names = next(iter(claims.items()))
        super().__init__(
            f"a picture must be of one class, but {len(claims)} are claimed by several, the first "
            f"of them, {image}, by {', '.join(names)}"
        )


@dataclass(frozen=True)
class Example:
    """A picture of a data set."""

    id: int
    path: str
    """From the folder of the collection on."""
    label: str
    part: str
    name: str
    """Of its file in the data set."""


def members(search: Search, top: int | None = None, threshold: float | None = None) -> list[int]:
    """The pictures of a search that are of its class, the best first.

    They are those that were said to be, and those among the results to which nothing else was said:
    the ``top`` best, or those of at least a probability; if neither is given, as many as are
    expected to be relevant where there is a way to tell, and else none.
    """
    labels = search.labels
    if threshold is None and top is None and insight.can_tell(search):
        threshold = insight.balanced(insight.thresholds(search)).probability
    count = 0 if top is None and threshold is None else top
    if threshold is not None:
        above = search.ranking().above(checks.probability(threshold, "threshold"))
        count = above if count is None else min(count, above)
    search.results(1)  # says so where there was no query
    ids = search.model.pool.identifiers(search.ranking().rows)
    taken = np.zeros(len(ids), dtype=bool)
    taken[:count] = True
    taken[np.isin(ids, list(labels))] = False
    taken[np.isin(ids, [image for image, label in labels.items() if label is True])] = True
    members: list[int] = ids[taken].tolist()
    return members


def assigned(
    claims: Mapping[str, Iterable[int]], conflicts: Literal["skip", "first"] | None = None
) -> dict[int, str]:
    """The class of each picture, of what each class claims.

    Those that several claim are a ``ConflictError``, unless they are to be left out or to go to
    the first of them.
    """
    if conflicts not in (None, "skip", "first"):
        raise ValueError(f"conflicts must be skip or first, got {conflicts!r}")
    names: defaultdict[int, list[str]] = defaultdict(list)
    for name, images in claims.items():
        for image in images:
            names[image].append(name)
    disputed = {image: known for image, known in names.items() if len(known) > 1}
    if disputed and conflicts is None:
        raise ConflictError(disputed)
    left_out = disputed if conflicts == "skip" else {}
    return {image: known[0] for image, known in names.items() if image not in left_out}


def split(
    labels: Mapping[int, str], share: float, seed: int = 0, groups: Iterable[Iterable[int]] = ()
) -> dict[int, str]:
    """Which part each picture is in: about a ``share`` of each class is for validation.

    Pictures of a group, such as copies, are in the same part. Each class has some in both.
    """
    share = checks.number(share, "split", "a share from 0 to below 1", 0.0, np.nextafter(1, 0))
    rng = np.random.default_rng(checks.whole_number(seed, "seed", least=0))
    parts = dict.fromkeys(labels, TRAIN)
    if not share:
        return parts
    joined = {image: number for number, group in enumerate(groups) for image in group}
    together: defaultdict[int, list[int]] = defaultdict(list)
    for image in sorted(labels):
        together[joined.get(image, -1 - image)].append(image)
    classes: defaultdict[str, list[list[int]]] = defaultdict(list)
    for images in together.values():
        for name in {labels[image] for image in images}:
            classes[name].append(images)
    settled: set[int] = set()
    for name in sorted(classes):
        own = classes[name]
        size = sum(labels[image] == name for images in own for image in images)
        wanted = max(1, round(share * size))
        chosen = sum(parts[image] == VAL for images in own for image in images)
        left = sum(parts[images[0]] == TRAIN for images in own)
        for place in rng.permutation(len(own)):
            images = own[place]
            if images[0] in settled or chosen >= wanted or left < 2:
                continue
            parts |= dict.fromkeys(images, VAL)
            chosen, left = chosen + len(images), left - 1
        settled.update(image for images in own for image in images)
        if {parts[image] for images in own for image in images if labels[image] == name} != _BOTH:
            raise ValueError(
                f"split must leave each class pictures in both parts, but those of {name!r} "
                "cannot be parted: they are too few, or copies of each other"
            )
    return parts


def parted(
    labels: Mapping[int, str], share: float, seed: int = 0, groups: Iterable[Iterable[int]] = ()
) -> dict[int, str]:
    """Which part each picture is in, of what can be written: there are pictures, and names."""
    if not labels:
        raise ValueError("a data set must have pictures, but no class has any")
    for name in sorted(set(labels.values())):
        plain = name == PurePosixPath(name).name == printable(name)
        if not name or not plain or name.startswith("."):
            raise ValueError(f"a class must have a name for a folder, got {name!r}")
    return split(labels, share, seed, groups)


def write(
    layout: str,
    collection: Collection,
    labels: Mapping[int, str],
    out: Path,
    share: float = 0.0,
    seed: int = 0,
    groups: Iterable[Iterable[int]] = (),
    link: bool = False,
) -> list[Example]:
    """Write pictures and their classes to a new folder, with copies of the files or links to them.

    Layouts are ``folders`` (part/class/picture, for torchvision and Ultralytics), ``coco`` (a
    category for each picture as a whole) and ``imagefolder`` (Hugging Face, with metadata.csv).
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    parts = parted(labels, share, seed, groups)
    images = np.array(sorted(labels))
    own = [collection.paths[row] for row in np.searchsorted(collection.ids, images).tolist()]
    check_folder(out, own, collection.root)
    examples = [
        Example(image, path, labels[image], parts[image], _name(collection, image, max(labels)))
        for image, path in zip(images.tolist(), own, strict=True)
    ]
    kind = "links" if link else "copies"
    for one in examples:
        place = out / one.part / (one.label if layout == "folders" else "")
        place.mkdir(parents=True, exist_ok=True)
        FOLDERS[kind](collection.root, one.path, place / one.name)
    for part in sorted({one.part for one in examples}):
        LAYOUTS[layout](collection, [one for one in examples if one.part == part], labels, out)
    return examples


def _name(collection: Collection, image: int, most: int) -> str:
    """A name with the identifier in it, and with an ending that says of what kind the file is."""
    path = collection.path(image)
    with pictures.quietly(), collection.open_file(image) as file:
        endings = _ENDINGS[pictures.kind(file)]
    ending = path.suffix if path.suffix.lower() in endings else endings[0]
    return numbered(image, most, path.name, ending)


def _nothing(
    collection: Collection, examples: Sequence[Example], labels: Mapping[int, str], out: Path
) -> None:
    """Folders tell all there is."""


def _metadata(
    collection: Collection, examples: Sequence[Example], labels: Mapping[int, str], out: Path
) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("file_name", "label", "id", "path"))
    writer.writerows((one.name, one.label, one.id, one.path) for one in examples)
    write_whole(out / examples[0].part / "metadata.csv", stream.getvalue())


def _coco(
    collection: Collection, examples: Sequence[Example], labels: Mapping[int, str], out: Path
) -> None:
    numbers = {name: number for number, name in enumerate(sorted(set(labels.values())), start=1)}
    images = []
    for one in examples:
        with pictures.quietly(), Image.open(out / one.part / one.name) as image:
            width, height = image.size
        images.append({"id": one.id, "file_name": one.name, "width": width, "height": height})
    content = {
        "info": {"description": f"{examples[0].part}, a category for each image as a whole"},
        "images": images,
        "annotations": [
            {"id": number, "image_id": one.id, "category_id": numbers[one.label]}
            for number, one in enumerate(examples, start=1)
        ],
        "categories": [{"id": number, "name": name} for name, number in numbers.items()],
    }
    place = out / "annotations"
    place.mkdir(exist_ok=True)
    write_whole(place / f"{examples[0].part}.json", json.dumps(content))


LAYOUTS: dict[str, Callable[[Collection, Sequence[Example], Mapping[int, str], Path], None]] = {
    "folders": _nothing,
    "coco": _coco,
    "imagefolder": _metadata,
}
"""What is written beside the pictures of a part, by layout."""
