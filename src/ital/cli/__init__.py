"""The `ital` command."""

from typing import Annotated

import typer

from ital import __version__
from ital.cli import ask, bench, collections, export, find, labels, models, searches, serve

app = typer.Typer(
    help="Find all the images that you mean, from one example and a few answers.",
    no_args_is_help=True,
)
for part in (serve, collections, models, find, ask, labels, searches, export, bench):
    app.add_typer(part.app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ital {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Find all the images that you mean, from one example and a few answers."""
