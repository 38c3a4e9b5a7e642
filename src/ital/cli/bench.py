"""The evaluation: `ital bench` and `ital tune`."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from ital.cli.output import errors_as_messages, print_paths

app = typer.Typer()
bench = typer.Typer(help="Compare strategies as the paper does.", no_args_is_help=True)
app.add_typer(bench, name="bench")

Data = Annotated[
    str,
    typer.Option(
        help="digits (ships with scikit-learn); butterflies, usps, scenes13, corel1k, flowers102, "
        "mirflickr or imagenet (from the folder that ITAL_DATA names); FILE.npz; or a folder with "
        "a folder of pictures for each class."
    ),
]
Pca = Annotated[int | None, typer.Option(help="Reduce features to so many dimensions.", min=1)]
Processes = Annotated[int | None, typer.Option(help="All cores if not given.", min=1)]


@bench.command("run")
def bench_run(
    out: Annotated[Path, typer.Option(help="The folder for this and other runs.")],
    data: Data = "digits",
    strategies: Annotated[
        str,
        typer.Option(
            help="Names with commas between them, or all, which are the strategies and what people "
            "have instead: centroid, svm and forest. Parameters follow a colon, and then "
            "semicolons stand between strategies: 'ital:posterior=exact;random'."
        ),
    ] = "all",
    queries: Annotated[int, typer.Option(help="Queries of each class.", min=1)] = 10,
    rounds: Annotated[int, typer.Option(help="Rounds of feedback.", min=1)] = 10,
    batch: Annotated[int, typer.Option(help="Questions a round.", min=1)] = 4,
    user: Annotated[
        str, typer.Option(help="perfect, aggressive, conservative or blend (section 4.5).")
    ] = "perfect",
    config: Annotated[
        Path | None, typer.Option(help="A kernel from 'ital tune'; that of the paper if none.")
    ] = None,
    base_rate: Annotated[
        str | None,
        typer.Option(
            help="How many of all images are relevant: 'learn', or a share between 0 and 1. The "
            "paper's prior, which knows nothing of that, if not given."
        ),
    ] = None,
    pca: Pca = None,
    paper_queries: Annotated[
        bool,
        typer.Option(
            "--paper-queries",
            help="The very queries of the paper; drawn by its rule for data that it does not have.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="For queries, strategies and users.", min=0)] = 0,
    processes: Processes = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Play over a Ray cluster instead of processes of this machine: HOST:PORT, auto, "
            "or local, which starts a Ray here and ends it.",
        ),
    ] = None,
) -> None:
    """Ask strategies the same queries and keep what came of each.

    Every finished query is on disk at once. The same command goes on where a run was broken off.
    """
    from ital.evaluation import paper
    from ital.evaluation.experiment import Settings, names

    labels = _labels(strategies)
    with errors_as_messages():
        settings = Settings(
            data=data,
            strategies=tuple(names() if labels == ["all"] else labels),
            queries=queries,
            rounds=rounds,
            batch=batch,
            user=user,
            base_rate=_base_rate(base_rate),
            pca=pca,
            paper_queries=paper_queries,
            seed=seed,
            **_kernel(config),
        )
        _run(settings, out / settings.folder, processes, ray)
    if paper_queries and data not in paper.QUERIES:
        Console().print(
            f"The paper has no queries for {data}. These were drawn by its rule: NumPy's old "
            "generator, seeded with 0 for each class.",
            markup=False,
            highlight=False,
        )


@bench.command("report")
def bench_report(
    runs: Annotated[Path, typer.Argument(help="The folder that 'ital bench run' wrote to.")],
    headline: Annotated[
        str | None,
        typer.Option(
            help="Strategies of headline.png, the one picture of all data sets, with commas "
            "between them; context, ital, tcal, border_div, random, centroid, svm and forest, "
            "those that there are, if not given."
        ),
    ] = None,
) -> None:
    """Tables, tests and curves of all runs in a folder: a page, Markdown, CSV, PNG and SVG.

    With two data sets or more, headline.png shows them side by side.
    """
    from ital.evaluation import report, tables

    console = Console()
    with errors_as_messages():
        for run in tables.read(runs):
            table = Table(title=escape(run.name))
            columns = {
                column: title
                for column, title in report.columns(run).items()
                if column not in ("ndcg", "p_value", "queries", "found_per_question")
            }
            for column, title in columns.items():
                table.add_column(title, justify="left" if column == "strategy" else "right")
            for row in run.rows:
                table.add_row(*(escape(report.text(row, column)) for column in columns))
            console.print(table)
        print_paths(report.write(runs, None if headline is None else _labels(headline)))


@bench.command("paper")
def bench_paper(
    out: Annotated[Path, typer.Option(help="The folder for all runs.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="A few queries and strategies, in a few minutes.")
    ] = False,
    processes: Processes = None,
) -> None:
    """Every experiment of the paper for which there is data in the folder ITAL_DATA names.

    Tables 1 and 2, appendix B (users who err or skip) and appendix C (dimensions). Kernels that the
    paper does not give are chosen by cross-validation first.
    """
    from ital.evaluation import paper, report

    console = Console()
    with errors_as_messages():
        found = list(paper.experiments(quick))
        if not found:
            raise ValueError("ITAL_DATA must name a folder with data of the paper, but has none")
        for settings in found:
            console.rule(settings.folder)
            chosen = replace(settings, **paper.kernel(settings, out))
            _run(chosen, out / settings.folder, processes)
        print_paths(report.write(out))


@app.command()
def tune(
    out: Annotated[Path, typer.Option(help="Where to write the kernel, for 'bench run --config'.")],
    data: Data = "digits",
    folds: Annotated[int, typer.Option(help="Parts of the training set.", min=2)] = 10,
    shots: Annotated[
        int | None,
        typer.Option(help="Learn from so many images of each class only, as a search does.", min=1),
    ] = None,
    pca: Pca = None,
    seed: Annotated[int, typer.Option(help="For folds and shots.", min=0)] = 0,
) -> None:
    """Choose the kernel by cross-validation on the training set, section 4.3.

    Length scale, noise and variance are optimised in turn for mean average precision. The median
    heuristic, which needs no labels, is reported beside the result.
    """
    from ital.evaluation import tune as tuning
    from ital.evaluation.datasets import load

    console = Console()
    table = Table(title=escape(f"Tried on {data}"))
    for column in ("length scale", "variance", "noise", "mean average precision"):
        table.add_column(column, justify="right")

    def describe(trial: tuning.Trial) -> list[str]:
        kernel = trial.kernel
        numbers = (kernel.length_scale, kernel.variance, kernel.noise)
        return [*(f"{number:.4g}" for number in numbers), f"{trial.precision:.4f}"]

    with errors_as_messages():
        dataset = load(data, pca)
        with console.status("Trying kernels …") as status:

            def report(trial: tuning.Trial) -> None:
                table.add_row(*describe(trial))
                status.update(f"Trying kernels … {table.row_count} so far, {trial.precision:.4f}")

            best, median = tuning.tune(dataset, folds, shots, seed, report)
        tuning.write(best.kernel, out)
    console.print(table)
    for name, trial in (("median heuristic", median), ("best", best)):
        scale, variance, noise, precision = describe(trial)
        console.print(
            f"{name}: length scale {scale}, variance {variance}, noise {noise}: {precision}"
        )
    print_paths([out])


def _run(settings: Any, folder: Path, processes: int | None, ray: str | None = None) -> None:
    """Run an experiment with a bar for each strategy."""
    from ital.evaluation import runner

    columns = (TextColumn("{task.description:>20}"), BarColumn(), MofNCompleteColumn())
    progress = Progress(*columns, TimeRemainingColumn())
    bars: dict[str, TaskID] = {}
    with ExitStack() as shown:

        def update(label: str, done: int, total: int) -> None:
            if not bars:  # what can be wrong has been checked by now: no bars above an error
                shown.enter_context(progress)
            if label not in bars:
                bars[label] = progress.add_task(escape(label))
            progress.update(bars[label], completed=done, total=total)

        runner.run(settings, folder, processes, update, ray)


def _labels(text: str) -> list[str]:
    """Strategies with commas between them, or with semicolons where there are parameters."""
    mark = ";" if ";" in text or ":" in text else ","
    return [label.strip() for label in text.split(mark) if label.strip()]


def _base_rate(text: str | None) -> Any:
    """A number where it is one; what else it may be, the settings know."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _kernel(config: Path | None) -> dict[str, float]:
    from ital.evaluation import tune as tuning

    return {} if config is None else tuning.read(config)
