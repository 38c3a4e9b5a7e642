"""The loop of questions and answers in a terminal: `ital ask`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ital.answers import Answer
from ital.cli.finding import (
    AsJson,
    Folder,
    Like,
    Print0,
    Text,
    Threshold,
    Top,
    Unlike,
    begun,
    print_found,
    query,
    taken,
)
from ital.cli.keys import pressed
from ital.cli.output import errors_as_messages, note, print_paths
from ital.cli.viewer import Show, shown

if TYPE_CHECKING:
    from ital.cli.asking import Asking
    from ital.collection import Collection
    from ital.search import Search

app = typer.Typer()

_ANSWERS = {"y": Answer.YES, "n": Answer.NO, "s": Answer.UNSURE}
_UNDO, _QUIT = "u", "q"
_KEYS = "[y]es  [n]o  [s]kip  [u]ndo  [q]uit"


@app.command()
def ask(
    folder: Folder,
    like: Like = None,
    unlike: Unlike = None,
    text: Text = None,
    load: Annotated[
        Path | None, typer.Option(help="Go on with a search that was saved.", metavar="FILE")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Keep the search in this file, from answer to answer.", metavar="FILE"),
    ] = None,
    batch: Annotated[int, typer.Option(help="Questions a round.", min=1, max=32)] = 4,
    viewer: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="A program that shows a picture, such as feh or chafa, instead of the terminal "
            "itself (kitty or sixel graphics) or the system's viewer.",
        ),
    ] = None,
    top: Top = None,
    threshold: Threshold = None,
    as_json: AsJson = False,
    print0: Print0 = False,
) -> None:
    """Search where there is no browser: answer questions by keys, and get paths in the end.

    Keys are y for yes, n for no, s to skip what you cannot judge, u to take back the last answer
    and q to end. Without --top and --threshold, as many are printed as are expected to match.
    Questions are not on standard output, paths are; with --save, only the file is written:

    ital ask ~/Pictures --like rose.jpg --save roses.json

    ital ask ~/Pictures --load roses.json --save roses.json
    """
    from ital.cli.asking import Asking
    from ital.collection import Collection

    with errors_as_messages():
        if save is not None and save.exists() and not (load is not None and save.samefile(load)):
            raise ValueError(f"--save must name a new file, or that of --load, got {str(save)!r}")
        if load is None and not like and not unlike and not text:
            raise ValueError("ask needs a picture by --like or words by --text, or use --load")
        if load is not None and text:
            raise ValueError("words are what a search begins with: --text or --load, not both")
        collection = Collection.open(folder)
        search = begun(collection, text) if load is None else collection.load_search(load)
        query(collection, search, like, unlike)

        def keep() -> None:
            if save is not None:
                search.save(save)

        keep()  # before anyone has answered anything that could not be kept
        asking = Asking(search, batch, keep)
        # Ctrl-C is how some people end it, and all answers but one that was not given are there.
        with suppress(KeyboardInterrupt), shown(collection, viewer) as show, pressed() as key:
            _loop(collection, asking, show, key)
        if save is not None:
            print_paths([save])
            return
        results = taken(collection, search, top, threshold)
    print_found(results, collection.root, as_json, print0)


def _loop(collection: Collection, asking: Asking, show: Show, key: Callable[[], str]) -> None:
    from ital.collection.scan import printable

    note(_KEYS)
    while (question := asking.question) is not None:
        number, count = asking.number
        note(f"{number}/{count} {printable(str(collection.path(question)))}")
        show(question)
        while (chosen := key()) not in (*_ANSWERS, _UNDO, _QUIT, ""):
            note(_KEYS)
        if chosen in (_QUIT, ""):
            return
        if chosen == _UNDO:
            note("Taken back." if asking.undo() else "There is no answer to take back.")
            continue
        note(_ANSWERS[chosen].value)
        if asking.answer(_ANSWERS[chosen]):
            note(_standing(asking.search))
    note("There is nothing left to ask.")


def _standing(search: Search) -> str:
    """Where the search stands, in a line."""
    from ital import insight

    said = [Answer.of(one) for one in search.labels.values()]
    counts = ", ".join(f"{said.count(one)} {one.value}" for one in Answer)
    relevant = insight.relevant(search)
    if relevant is None:
        return f"So far {counts}."
    value, low, high = (round(one) for one in (relevant.value, relevant.low, relevant.high))
    return f"So far {counts}; about {value:,} pictures match, between {low:,} and {high:,}."
