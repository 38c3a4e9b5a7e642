"""What the commands that search have in common: examples to begin with, paths to end with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ital.cli.output import note

if TYPE_CHECKING:
    from ital.collection import Collection
    from ital.collection.export import Found
    from ital.search import Search

Folder = Annotated[Path, typer.Argument(help="The folder that was indexed.")]
Like = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="A picture like those that you want, of the folder or any other. May be repeated.",
    ),
]
Unlike = Annotated[
    list[Path] | None,
    typer.Option(
        "--not", metavar="FILE", help="A picture of what you do not want. May be repeated."
    ),
]
Text = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WORDS",
        help='What they show, in words: "a street in the rain, not at night". May be repeated. For '
        "a folder that was indexed by a model that knows words: see 'ital models'.",
    ),
]
Top = Annotated[int | None, typer.Option(help="So many of the best.", min=1)]
Threshold = Annotated[
    float | None,
    typer.Option(help="As many of the best as are at least so probable (0 to 1).", min=0, max=1),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="One object with identifiers, probabilities and labels.")
]
Print0 = Annotated[
    bool, typer.Option("--print0", "-0", help="A NUL after each path, for xargs -0.")
]

_FEW = 100
"""Pictures that are taken where nobody says how many, and nothing tells how many there are."""


def begun(collection: Collection, text: list[str] | None, seed: int | None = None) -> Search:
    """A search that begins with words, if there are any."""
    return collection.search(text=",".join(text) if text else None, seed=seed)


def query(
    collection: Collection, search: Search, like: list[Path] | None, unlike: list[Path] | None
) -> None:
    """Add examples to a search, if there are any."""
    from ital.collection.examples import examples

    if like or unlike:
        search.query(
            relevant=examples(collection, like or [], "--like"),
            irrelevant=examples(collection, unlike or [], "--not"),
        )


def taken(
    collection: Collection, search: Search, top: int | None, threshold: float | None
) -> list[Found]:
    """The results that were asked for; if nobody did, as many as are expected to be relevant."""
    from ital import insight
    from ital.collection.export import found

    if top is None and threshold is None:
        if insight.can_tell(search):
            threshold = insight.balanced(insight.thresholds(search)).probability
        else:
            top = _FEW
    return found(collection, search, top, threshold)


def print_found(results: list[Found], root: Path, as_json: bool, print0: bool) -> None:
    """Results on standard output, and nothing else."""
    from ital.collection.export import FILES, left_out

    kind = "json" if as_json else "paths0" if print0 else "paths"
    typer.echo(os.fsencode(FILES[kind](results, root)), nl=as_json)
    note_left_out(left_out(kind, results, root), "-0")


def note_left_out(left_out: list[Found], instead: str) -> None:
    from ital.collection.scan import printable

    if left_out:
        note(
            f"{len(left_out)} left out for line breaks in their paths, the first of them "
            f"{printable(left_out[0].path)}: {instead} has them all"
        )
