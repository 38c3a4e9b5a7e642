"""What searches found, and what was said in them, for other programs: `ital export`."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ital.cli.finding import Folder, Threshold, Top, note_left_out
from ital.cli.output import errors_as_messages, note, print_paths
from ital.cli.searches import DatabaseUrl, browser_search, opened_database

if TYPE_CHECKING:
    from ital.collection import Collection
    from ital.groups import Groups
    from ital.search import Search
    from ital.server.database import Database

app = typer.Typer()


@app.command()
def export(
    folder: Folder,
    searches: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="SAVED...",
            help="A saved search; several for a data set.",
            show_default=False,
        ),
    ] = None,
    browser: Annotated[
        list[str] | None,
        typer.Option(
            "--search",
            metavar="NAME",
            help="A search that was begun in the browser, by its name or identifier (ital "
            "searches lists them). May be repeated.",
        ),
    ] = None,
    database: DatabaseUrl = None,
    out: Annotated[
        Path | None, typer.Option(help="The file, or folder, to write; standard output if none.")
    ] = None,
    what: Annotated[
        str,
        typer.Option(
            help="results; answers: everything that was said, in which round, asked by which "
            "strategy, and how probable it was then and is now; or search: the saved search itself."
        ),
    ] = "results",
    kind: Annotated[
        str,
        typer.Option(
            "--format",
            help="csv, json or parquet; of results also paths (on lines), paths0 (a NUL after "
            "each), or a folder of copies or links.",
        ),
    ] = "csv",
    top: Top = None,
    threshold: Threshold = None,
    dataset: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write a labelled data set to this new folder instead, with a class for each "
            "search, named like it or its file.",
        ),
    ] = None,
    layout: Annotated[
        str,
        typer.Option(
            help="Of the data set: folders (torchvision's ImageFolder, Ultralytics), coco, or "
            "imagefolder (Hugging Face)."
        ),
    ] = "folders",
    split: Annotated[
        float, typer.Option(help="Part of each class that is for validation.", min=0, max=1)
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="For the split.", min=0)] = 0,
    conflicts: Annotated[
        str | None,
        typer.Option(
            help="What becomes of pictures that several classes claim: skip, or first. It is an "
            "error if not given."
        ),
    ] = None,
    link: Annotated[
        bool, typer.Option("--link", help="Links to the pictures instead of copies.")
    ] = False,
    stacks: Annotated[
        str | None,
        typer.Option(
            help="Of results that show the same thing: whole, all of them if one is found, or "
            "best, the first alone; --top counts stacks then. Those that are found, if not given."
        ),
    ] = None,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Even if a search was saved over another collection.")
    ] = False,
) -> None:
    """Write results or answers of a search, or a data set with a class for each of several.

    ital export ~/Pictures roses.json --what answers --format parquet --out roses.parquet

    ital export ~/Pictures --search roses --threshold 0.5 --format paths

    ital export ~/Pictures roses.json --search tulips --dataset flowers --split 0.2
    """
    from ital.collection import Collection

    with errors_as_messages(), ExitStack() as stack:
        opened = Collection.open(folder)
        chosen = [_Chosen.saved(opened, file, adopt) for file in searches or ()]
        if browser:
            kept = stack.enter_context(opened_database(database))
            chosen += [_Chosen.begun(opened, name, kept) for name in browser]
        if not chosen:
            raise ValueError("export needs a search: a file, or one of the browser by --search")
        if dataset is not None:
            if out is not None:
                raise ValueError("--out and --dataset are two ways to write: give one of them")
            options = {"share": split, "seed": seed, "link": link, "groups": opened.stacks}
            _dataset(opened, chosen, (top, threshold), conflicts, dataset, layout, options)
            print_paths([dataset])
            return
        if len(chosen) > 1:
            raise ValueError(f"several searches make a data set: {len(chosen)} need --dataset")
        if what == "search":
            _search(opened, chosen[0], out)
        else:
            _table(opened, chosen[0], (top, threshold, stacks), what, kind, out)
    if out is not None:
        print_paths([out])


@dataclass(frozen=True)
class _Chosen:
    """A search, which is loaded when it is needed."""

    name: str
    load: Callable[[Groups | None], Search]
    file: Path | None = None

    @classmethod
    def saved(cls, collection: Collection, file: Path, adopt: bool) -> _Chosen:
        return cls(file.stem, lambda groups: collection.load_search(file, adopt, groups), file)

    @classmethod
    def begun(cls, collection: Collection, name: str, database: Database) -> _Chosen:
        return cls(name, lambda groups: browser_search(database, collection, name, groups))


def _search(collection: Collection, chosen: _Chosen, out: Path | None) -> None:
    from ital.collection.export import check_file

    search = chosen.load(None)
    if out is None:
        typer.echo(search.to_json())
    else:
        check_file(out, [], collection.root)
        search.save(out)


def _table(
    collection: Collection,
    chosen: _Chosen,
    which: tuple[int | None, float | None, str | None],
    what: str,
    kind: str,
    out: Path | None,
) -> None:
    from ital.collection import export as exporting
    from ital.collection import said as saying

    if what not in ("results", "answers"):
        raise ValueError(f"--what must be results, answers or search, got {what!r}")
    saved = chosen.file
    if out and saved and out.exists() and saved.exists() and out.samefile(saved):
        raise ValueError(f"out must not replace the search, got {str(out)!r}")
    answers, root = what == "answers", collection.root
    files: dict[str, Any] = saying.FILES if answers else exporting.FILES
    if out is None and kind not in files:
        raise ValueError(f"--format must be one of {', '.join(files)} without --out, got {kind!r}")
    left_out: list[Any] = []
    with Console(stderr=True).status("Looking over the pictures …"):
        groups = None if which[-1] is None else collection.groups
        search = chosen.load(groups)
        rows: list[Any] = (
            saying.said(collection, search)
            if answers
            else exporting.found(collection, search, *which)
        )
    if out is None:
        typer.echo(os.fsencode(files[kind](rows, root)), nl=False)
        left_out = [] if answers else exporting.left_out(kind, rows, root)
    elif answers:
        saying.write(kind, rows, root, out)
    else:
        left_out = exporting.write(kind, rows, root, out)
    note(f"{len(rows) - len(left_out)} {'answers' if answers else 'pictures'}")
    note_left_out(left_out, "--format paths0")


def _dataset(
    collection: Collection,
    searches: list[_Chosen],
    which: tuple[int | None, float | None],
    conflicts: Any,
    out: Path,
    layout: str,
    options: dict[str, Any],
) -> None:
    from ital.collection import dataset
    from ital.collection.scan import printable

    claims: dict[str, list[int]] = {}
    for one in searches:
        if one.name in claims:
            raise ValueError(f"classes are named like searches, but two are called {one.name!r}")
        with Console(stderr=True).status("Looking over the pictures …"):
            claims[one.name] = dataset.members(one.load(None), *which)
    try:
        labels = dataset.assigned(claims, conflicts)
    except dataset.ConflictError as error:
        for image, names in error.claims.items():
            note(f"{printable(str(collection.path(image)))}: {', '.join(names)}")
        raise ValueError(f"{error}; give --conflicts skip or first") from error
    written = dataset.write(layout, collection, labels, out, **options)
    for name in claims:
        parts = [one.part for one in written if one.label == name]
        counts = ", ".join(f"{parts.count(one)} {one}" for one in sorted(set(parts)))
        note(f"{name}: {counts or 'no pictures'}")
