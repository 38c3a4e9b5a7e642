"""The `ital` command."""

import typer

from ital.cli import bench, collections, serve

app = typer.Typer(
    help="Find all the images that you mean, from one example and a few answers.",
    no_args_is_help=True,
    add_completion=False,
)
for part in (serve, collections, bench):
    app.add_typer(part.app)


@app.callback()
def main() -> None:
    """Find all the images that you mean, from one example and a few answers."""
