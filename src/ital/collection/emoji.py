"""A sample that everyone has: 2,465 emoji of OpenMoji, with what each of them shows.

The pictures come with the wheel, under CC BY-SA 4.0; see `hatch_build.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ital.collection.collection import Collection
from ital.collection.indexer import Progress, index
from ital.collection.store import in_cache

_FOLDER = Path(__file__).with_name("openmoji")


@dataclass(frozen=True)
class Truth:
    """What a picture shows."""

    name: str
    group: str
    """One of a dozen, such as ``animals-nature``."""
    subgroup: str
    """One of about a hundred, such as ``animal-bird``."""
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Sample:
    """Pictures in a folder, and what they show."""

    folder: Path
    truth: dict[str, Truth]
    """By path, from the folder on."""

    def __len__(self) -> int:
        """The number of pictures."""
        return len(self.truth)

    def collection(self, report: Callable[[Progress], None] = lambda progress: None) -> Collection:
        """The sample as a collection, which is indexed into the user's cache the first time."""
        to = in_cache(self.folder)
        index(self.folder, to, report=report)
        return Collection.open(to)


def sample() -> Sample:
    """The sample: a folder of pictures, with ground truth."""
    path = _FOLDER / "truth.json"
    if not path.exists():
        raise FileNotFoundError(
            f"the sample is not in {_FOLDER}: install ital from a wheel, or by pip install -e ."
        )
    truth = {
        place: Truth(about["name"], about["group"], about["subgroup"], tuple(about["tags"]))
        for place, about in json.loads(path.read_text(encoding="utf-8")).items()
    }
    return Sample(_FOLDER / "OpenMoji", truth)
