"""In the browser: `ital serve` and `ital demo`."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ital.cli.output import errors_as_messages, has_screen, indexing, print_paths

app = typer.Typer()

Port = Annotated[
    int | None,
    typer.Option(
        help="Where to listen, 0 for any that is free; 8000, or another if that is taken, if none.",
        min=0,
        max=65535,
    ),
]


@app.command()
def serve(
    folders: Annotated[list[Path], typer.Argument(help="Folders of pictures.")],
    to: Annotated[
        Path | None,
        typer.Option(help="Where to keep the collection, if there is one folder."),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen at. Any but this machine's own needs a token."),
    ] = None,
    port: Port = None,
    token: Annotated[
        str | None,
        typer.Option(help="What visitors must know; made up and printed if it is needed."),
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Another name by which the server is called.")
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(help="For searches, such as postgresql+psycopg://…; a file if none."),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Have a Ray cluster do the work of searches: HOST:PORT, auto, or local, which "
            "starts a Ray here and ends it. It opens the collection's files by their paths.",
        ),
    ] = None,
    stacks: Annotated[
        bool | None,
        typer.Option(
            help="Ask about, and show, one of several pictures of the same thing; so, if not given."
        ),
    ] = None,
    index: Annotated[bool, typer.Option(help="Bring collections up to date first.")] = True,
    json_log: Annotated[bool, typer.Option("--json-log", help="Log as JSON lines.")] = False,
    browser: Annotated[
        bool | None,
        typer.Option(help="Open the page in a browser; if there is a screen, if not given."),
    ] = None,
) -> None:
    """Search pictures in the browser.

    Indexes what is new in the background. Searches save themselves. Ctrl-C stops it.
    """
    if json_log:
        from ital.server.logs import log_as_json

        log_as_json()
    with errors_as_messages():
        for folder in folders:
            if not folder.is_dir():
                raise ValueError(f"folder must be a folder of pictures, got {str(folder)!r}")
        if len({folder.resolve() for folder in folders}) < len(folders):
            raise ValueError("each folder may be given once")
        if to is not None and len(folders) > 1:
            raise ValueError("--to is for one folder only")
        given = {
            "host": host,
            "port": port,
            "allowed_hosts": tuple(allow_host) if allow_host else None,
            "token": token,
            "database": database,
            "ray": ray,
            "stacks": stacks,
        }
        _serve([(folder, to) for folder in folders], given, index, browser)


@app.command()
def demo(
    like: Annotated[str, typer.Option(help="The emoji to start from, by name.")] = "rose",
    rounds: Annotated[int, typer.Option(help="Rounds of questions.", min=1, max=100)] = 10,
    batch: Annotated[int, typer.Option(help="Questions a round.", min=1, max=32)] = 4,
    out: Annotated[Path, typer.Option(help="Where to save the picture.")] = Path("ital-demo.png"),
    page: Annotated[
        bool, typer.Option("--serve", help="Search the sample yourself, in the browser.")
    ] = False,
    port: Port = None,
) -> None:
    """Index the sample of 2,465 emoji, and search it with a simulated user.

    Prints the questions and answers of every round and the average precision beside that of the
    paper's questions and of questions about the top results, and saves a picture of it all. With
    --serve, the sample is served instead, for you to search it.
    """
    from ital.collection.emoji import sample
    from ital.evaluation import demo as first

    console = Console()
    with errors_as_messages():
        pictures = sample()
        with indexing() as report:
            collection = pictures.collection(report)
        if page:
            from ital.collection.store import in_cache

            _serve([(pictures.folder, in_cache(pictures.folder))], {"port": port}, index=False)
            return
        with console.status("Asking …"):
            played = first.run(collection, pictures, like, rounds, batch)
        table = Table(title=escape(played.title))
        table.add_column("round", justify="right")
        table.add_column("what was asked (and answered)")
        for strategy in first.STRATEGIES:
            table.add_column(strategy, justify="right")
        signs = {1: "[green]yes[/]", -1: "[red]no[/]", 0: "[dim]?[/]"}
        for number, states in enumerate(zip(*played.rounds.values(), strict=True)):
            asked = zip(states[0].questions, states[0].answers, strict=True)
            told = ", ".join(
                f"{escape(played.truths[image].name)} {signs[int(answer)]}"
                for image, answer in asked
            )
            table.add_row(
                str(number), told or "the example", *(f"{one.quality:.3f}" for one in states)
            )
        console.print(table)
        console.print("The columns on the right are average precisions over all other pictures.")
        first.draw(played, out)
    print_paths([out])


def _serve(
    folders: list[tuple[Path, Path | None]],
    given: dict[str, Any],
    index: bool = True,
    browser: bool | None = None,
) -> None:
    """Serve folders until someone stops it, and say where."""
    from pydantic import ValidationError

    from ital.server import ServerSettings, serve

    # A pass over a million pictures takes seconds.
    looking = Console(stderr=True).status("Looking over the pictures …")

    def ready(address: str) -> None:
        looking.stop()
        line = f"The page is at {address} (Ctrl-C stops it)"
        Console().print(line, soft_wrap=True, highlight=False, markup=False)
        if browser if browser is not None else sys.stdout.isatty() and has_screen():
            webbrowser.open(address)

    try:
        # What is not given may be in the environment.
        settings = ServerSettings(**{name: one for name, one in given.items() if one is not None})
    except ValidationError as error:
        problem = error.errors()[0]
        raise ValueError(f"{problem['loc'][0]}: {problem['msg']}") from error
    with suppress(KeyboardInterrupt), looking:  # Ctrl-C is how people stop it
        serve(folders, settings, index, ready)
