"""Pictures like an example, for other programs: `ital find`."""

from __future__ import annotations

from rich.console import Console
from typer import Typer

from ital.cli.finding import (
    AsJson,
    Folder,
    Like,
    Print0,
    Threshold,
    Top,
    Unlike,
    print_found,
    query,
    taken,
)
from ital.cli.output import errors_as_messages

app = Typer()


@app.command()
def find(
    folder: Folder,
    like: Like = None,
    unlike: Unlike = None,
    top: Top = None,
    threshold: Threshold = None,
    as_json: AsJson = False,
    print0: Print0 = False,
) -> None:
    """Print the paths of pictures like an example, the best first, one on a line.

    The folder must have been indexed by 'ital index'. Nothing but paths is on standard output, the
    best 100 without --top and --threshold:

    ital find ~/Pictures --like rose.jpg --top 20 -0 | xargs -0 cp -t roses
    """
    from ital.collection import Collection

    with errors_as_messages():
        if not like and not unlike:
            raise ValueError("find needs a picture to begin with: give it by --like")
        with Console(stderr=True).status("Looking over the pictures …"):
            collection = Collection.open(folder)
            search = collection.search(seed=0)
            query(collection, search, like, unlike)
            results = taken(collection, search, top, threshold)
    print_found(results, collection.root, as_json, print0)
