"""Models that can be fetched by name from the Hugging Face hub, and which of them are here.

What is known of them is in `shelf.toml`. `ital.collection.hub` fetches them; nothing else does.
"""

from __future__ import annotations

import functools
import importlib.resources
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import platformdirs

PRECISIONS = ("fp32", "fp16", "int8")
"""In which weights may be kept; the first is meant where none is named."""


class ModelError(ValueError):
    """A model that cannot be used."""


@dataclass(frozen=True)
class File:
    """A file of a repository."""

    path: str
    size: int | None = None
    sha256: str | None = None
    """``None`` where it could not be verified: then what the hub says of it counts."""


@dataclass(frozen=True)
class Files:
    """Where a model is on this machine, and how its text is made ready.

    A text model and its tokenizer are there both or neither: without them a model knows no words.
    """

    picture: Path
    text: Path | None = None
    tokenizer: Path | None = None
    lower: bool = False
    """Whether text is to be in lower case before it is tokenised."""
    length: int | None = None
    """The number of tokens up to which text is filled by ``pad``, and at which it is cut.

    ``None`` if tokenizer.json tells all.
    """
    pad: int = 0


@dataclass(frozen=True)
class Entry:
    """A model that the hub has. What its values mean is said in `shelf.toml`."""

    name: str
    repository: str
    revision: str
    licence: str
    dimension: int
    side: int
    normalisation: str
    output: str
    precisions: Mapping[str, Mapping[str, File]]
    """The files in each precision, by what they are for: picture, text and tokenizer."""
    crop: float = 1.0
    stretch: bool = False
    lower: bool = False
    length: int | None = None
    pad: int = 0
    unverified: tuple[str, ...] = ()

    @property
    def words(self) -> bool:
        """Whether pictures can be found by words."""
        return all("text" in files for files in self.precisions.values())

    @property
    def folder(self) -> Path:
        """Where its files are, by their paths in the repository, if they were fetched."""
        cache = platformdirs.user_cache_path("ital", appauthor=False) / "models" / "hub"
        return cache / self.name / self.revision[:12]

    def size(self, precision: str) -> int | None:
        """Bytes to fetch; ``None`` if that is not known."""
        sizes = [file.size for file in self.precisions[precision].values()]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def is_here(self, precision: str) -> bool:
        """Whether all files were fetched: one that was not verified is never in its place."""
        wanted = self.precisions[precision].values()
        return all((self.folder / file.path).is_file() for file in wanted)

    def files(self, precision: str) -> Files:
        """Where its files are on this machine; an error if they are not."""
        if not self.is_here(precision):
            wanted = "" if precision == PRECISIONS[0] else f" --precision {precision}"
            raise ModelError(
                f"the model {called(self, precision)} is not on this machine: "
                f"ital models get {self.name}{wanted}"
            )
        wanted_files = self.precisions[precision]
        paths = {role: self.folder / file.path for role, file in wanted_files.items()}
        return Files(**paths, lower=self.lower, length=self.length, pad=self.pad)


def called(entry: Entry, precision: str) -> str:
    """The name by which `--model` takes a model in a precision."""
    return entry.name if precision == PRECISIONS[0] else f"{entry.name}:{precision}"


def find(name: str) -> tuple[Entry, str] | None:
    """The model of a name such as ``dinov2-small`` or ``dinov2-small:int8``, and its precision."""
    base, colon, precision = name.partition(":")
    if base not in shelf():
        return None
    entry = shelf()[base]
    return entry, checked(entry, precision if colon else PRECISIONS[0])


def checked(entry: Entry, precision: str) -> str:
    """A precision in which there are files of a model."""
    if precision not in entry.precisions:
        known = ", ".join(entry.precisions)
        raise ModelError(f"the precision of {entry.name} must be one of {known}, got {precision!r}")
    return precision


@functools.cache
def shelf() -> dict[str, Entry]:
    """All models that can be fetched, by name."""
    text = importlib.resources.files("ital.collection").joinpath("shelf.toml").read_text("utf-8")
    return read(text)


def read(text: str) -> dict[str, Entry]:
    """Models of a table in the form of `shelf.toml`."""
    return {name: _entry(name, about) for name, about in tomllib.loads(text).items()}


def _entry(name: str, about: dict[str, Any]) -> Entry:
    shared = {"tokenizer": File(**about["tokenizer"])} if "tokenizer" in about else {}
    precisions = {
        precision: {role: File(**file) for role, file in about[precision].items()} | shared
        for precision in PRECISIONS
        if precision in about
    }
    plain = {field.name: about[field.name] for field in fields(Entry) if field.name in about}
    plain["unverified"] = tuple(plain.get("unverified", ()))
    return Entry(name=name, precisions=precisions, **plain)
