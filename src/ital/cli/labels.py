"""Labels from elsewhere: `ital labels import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ital.answers import Answer
from ital.cli.finding import Folder
from ital.cli.output import errors_as_messages, note, print_paths

app = typer.Typer()
labels = typer.Typer(help="Labels that you have already.", no_args_is_help=True)
app.add_typer(labels, name="labels")


@labels.callback()
def _callback() -> None:
    """Labels that you have already."""


@labels.command("import")
def import_(
    folder: Folder,
    search: Annotated[
        Path, typer.Option(help="The saved search that learns them; a new one if it is not there.")
    ],
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A table, .csv, .parquet or .json, with the columns path (or id) and label.",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[Path | None, typer.Option(help="A folder of examples.", metavar="DIR")] = None,
    no: Annotated[
        Path | None, typer.Option(help="A folder of counterexamples.", metavar="DIR")
    ] = None,
) -> None:
    """Teach a saved search labels from a table, or from folders of examples.

    Labels are yes, no or unsure; true or false; 1, -1 or 0, which is unsure and not no. Rows
    without a label say nothing. Pictures of the folders --yes and --no may be in the collection
    or not. A file with a mistake in it is refused as a whole, with the line and the reason:

    ital labels import ~/Pictures roses.csv --search roses.json
    """
    from ital.collection import Collection
    from ital.collection.examples import examples
    from ital.collection.labels import pictures_in, teach

    with errors_as_messages():
        if file is None and yes is None and no is None:
            raise ValueError("labels import needs a file, or folders by --yes and --no")
        collection = Collection.open(folder)
        known = {} if file is None else collection.read_labels(file)
        chosen = {
            answer: [] if place is None else examples(collection, pictures_in(place, name), name)
            for answer, place, name in ((Answer.YES, yes, "--yes"), (Answer.NO, no, "--no"))
        }
        taught = collection.load_search(search) if search.exists() else collection.search()
        teach(taught, known, chosen[Answer.YES], chosen[Answer.NO])
        taught.save(search)
    said = list(known.values())
    counts = {answer: said.count(answer) + len(chosen.get(answer, ())) for answer in Answer}
    note(", ".join(f"{count} {answer.value}" for answer, count in counts.items()))
    print_paths([search])
