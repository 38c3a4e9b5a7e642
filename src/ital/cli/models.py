"""Models that describe pictures: `ital models` and `ital models get`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich import progress
from rich.console import Console
from rich.table import Table

from ital.cli.output import errors_as_messages, note
from ital.extras import needed_for

app = typer.Typer()
models = typer.Typer(help="Models that describe pictures.", invoke_without_command=True)
app.add_typer(models, name="models")


@models.callback()
def list_(context: typer.Context) -> None:
    """List the models that describe pictures: those that are bundled, and those of the hub.

    Nothing is fetched unless you ask for it by name: ital models get dinov2-small
    """
    if context.invoked_subcommand is not None:
        return
    from ital.collection import shelf
    from ital.collection.models import BUNDLED

    table = Table("name", "dimensions", "MB", "licence", "words", "here", box=None, pad_edge=False)
    for name in BUNDLED:
        table.add_row(name, "1280", "", "Apache-2.0", "no", "yes")
    for entry in shelf.shelf().values():
        for precision in entry.precisions:
            size = entry.size(precision)
            table.add_row(
                shelf.called(entry, precision),
                str(entry.dimension),
                "?" if size is None else f"{size / 1e6:,.0f}",
                entry.licence,
                "yes" if entry.words else "no",
                "yes" if entry.is_here(precision) else "no",
            )
    Console().print(table)


@models.command()
def get(
    name: Annotated[str, typer.Argument(help="A model that ital models lists.")],
    precision: Annotated[
        str | None, typer.Option(help="fp32, fp16 or int8: smaller, and less exact. fp32 at first.")
    ] = None,
) -> None:
    """Fetch a model from the Hugging Face hub, with its text model if it has one.

    What is here already is not fetched again; what was interrupted goes on. HTTPS_PROXY, HF_TOKEN,
    HF_ENDPOINT (a mirror) and HF_HUB_OFFLINE mean what they mean to the client of the hub.
    """
    from ital.collection import shelf
    from ital.collection.shelf import ModelError

    with errors_as_messages():
        found = shelf.find(name)
        if found is None:
            raise ModelError(f"name must be one of {', '.join(shelf.shelf())}, got {name!r}")
        entry, named = found
        chosen = named if precision is None else shelf.checked(entry, precision)
        with needed_for("fetching models"):
            from ital.collection import hub
        with _fetching() as report:
            fetched = hub.fetch(entry, chosen, report)
    for fact in (*(one.unverified for one in fetched), *entry.unverified):
        if fact is not None:
            note(f"Not verified: {fact}")
    called = shelf.called(entry, chosen)
    words = "is here" if fetched else "was here already"
    Console().print(
        f"{called} ({entry.licence}) {words}: ital index FOLDER --model {called}", soft_wrap=True
    )


@contextmanager
def _fetching() -> Iterator[Callable[[str, int, int | None], None]]:
    """A bar for each file, with what has arrived and the time that is left."""
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        bars = {}
        try:

            def report(path: str, done: int, total: int | None) -> None:
                if path not in bars:
                    bars[path] = shown.add_task(path, total=total)
                shown.update(bars[path], completed=done, total=total)

            yield report
        except KeyboardInterrupt:
            note("Interrupted. Run it again to go on.")
            raise typer.Exit(130) from None
