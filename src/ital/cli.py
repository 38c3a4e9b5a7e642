"""The `ital` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

app = typer.Typer(
    help="Find all the images that you mean, from one example and a few answers.",
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def main() -> None:
    """Find all the images that you mean, from one example and a few answers."""


@app.command()
def demo(
    query: Annotated[int, typer.Option(help="The digit image to start from.", min=0, max=1796)] = 3,
    rounds: Annotated[int, typer.Option(help="Rounds of questions.", min=1, max=100)] = 10,
    batch: Annotated[int, typer.Option(help="Questions a round.", min=1, max=32)] = 4,
    out: Annotated[Path, typer.Option(help="Where to save the picture.")] = Path("ital-demo.png"),
) -> None:
    """Search the 1,797 handwritten digits of scikit-learn with a simulated user.

    Prints the questions and answers of every round and the average precision of ital beside random
    questions and questions about the top results, and saves a picture of it all.
    """
    from ital.evaluation import demo as digits

    console = Console()
    with console.status("Asking …"):
        played = digits.run(query, rounds, batch)
    table = Table(title=f"All images of a {played.digits[query]}, from image {query}")
    table.add_column("round", justify="right")
    table.add_column("ital asked (and was told)")
    for strategy in digits.STRATEGIES:
        table.add_column(strategy, justify="right")
    signs = {1: "[green]yes[/]", -1: "[red]no[/]", 0: "[dim]?[/]"}
    for number, states in enumerate(zip(*played.rounds.values(), strict=True)):
        asked = zip(states[0].questions, states[0].answers, strict=True)
        told = ", ".join(f"{image} {signs[int(answer)]}" for image, answer in asked)
        table.add_row(str(number), told or "the query", *(f"{one.quality:.3f}" for one in states))
    console.print(table)
    console.print("The three columns on the right are average precisions over all other images.")
    digits.draw(played, out)
    console.print(f"The picture is in {out}")
