"""Pictures like an example, or that words describe, for other programs: `ital find`."""

from __future__ import annotations

from rich.console import Console
from typer import Typer

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
from ital.cli.output import errors_as_messages

app = Typer()


@app.command()
def find(
    folder: Folder,
    like: Like = None,
    unlike: Unlike = None,
    text: Text = None,
    top: Top = None,
    threshold: Threshold = None,
    as_json: AsJson = False,
    print0: Print0 = False,
) -> None:
    """Print the paths of pictures like an example or a description, the best first, one on a line.

    The folder must have been indexed by 'ital index'. Nothing but paths is on standard output, the
    best 100 without --top and --threshold:

    ital find ~/Pictures --like rose.jpg --top 20 -0 | xargs -0 cp -t roses

    ital find ~/Pictures --text "a street in the rain, not at night" --like street.jpg
    """
    from ital.collection import Collection

    with errors_as_messages():
        if not like and not unlike and not text:
            raise ValueError("find needs a picture by --like or words by --text to begin with")
        with Console(stderr=True).status("Looking over the pictures …"):
            collection = Collection.open(folder)
            search = begun(collection, text, seed=0)
            query(collection, search, like, unlike)
            results = taken(collection, search, top, threshold)
    print_found(results, collection.root, as_json, print0)
