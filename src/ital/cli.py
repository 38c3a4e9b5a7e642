"""The `ital` command."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

app = typer.Typer(
    help="Find all the images that you mean, from one example and a few answers.",
    no_args_is_help=True,
    add_completion=False,
)

bench = typer.Typer(help="Compare strategies as the paper does.", no_args_is_help=True)
app.add_typer(bench, name="bench")

Data = Annotated[
    str,
    typer.Option(
        help="digits (ships with scikit-learn); butterflies, usps, scenes13, corel1k, mirflickr or "
        "imagenet (from the folder that ITAL_DATA names); FILE.npz; or a folder with a folder of "
        "pictures for each class."
    ),
]
Pca = Annotated[int | None, typer.Option(help="Reduce features to so many dimensions.", min=1)]
Processes = Annotated[int | None, typer.Option(help="All cores if not given.", min=1)]


@app.callback()
def main() -> None:
    """Find all the images that you mean, from one example and a few answers."""


@app.command()
def demo(
    like: Annotated[str, typer.Option(help="The emoji to start from, by name.")] = "rose",
    rounds: Annotated[int, typer.Option(help="Rounds of questions.", min=1, max=100)] = 10,
    batch: Annotated[int, typer.Option(help="Questions a round.", min=1, max=32)] = 4,
    out: Annotated[Path, typer.Option(help="Where to save the picture.")] = Path("ital-demo.png"),
    page: Annotated[
        bool, typer.Option("--serve", help="Search the sample yourself, in the browser.")
    ] = False,
    port: Annotated[int, typer.Option(help="For --serve.", min=0, max=65535)] = 8000,
) -> None:
    """Index the sample of 2,465 emoji, and search it with a simulated user.

    Prints the questions and answers of every round and the average precision of ital beside random
    questions and questions about the top results, and saves a picture of it all. With --serve, the
    sample is served instead, for you to search it.
    """
    from ital.collection.emoji import sample
    from ital.evaluation import demo as first

    console = Console()
    with _errors_as_messages():
        pictures = sample()
        with _indexing() as report:
            collection = pictures.collection(report)
        if page:
            from ital.collection.store import in_cache

            _serve([(pictures.folder, in_cache(pictures.folder))], {"port": port}, index=False)
            return
        with console.status("Asking …"):
            played = first.run(collection, pictures, like, rounds, batch)
        table = Table(title=escape(played.title))
        table.add_column("round", justify="right")
        table.add_column("ital asked (and was told)")
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
    _print_paths([out])


@app.command()
def index(
    folder: Annotated[Path, typer.Argument(help="The folder of pictures.")],
    to: Annotated[
        Path | None,
        typer.Option(help="Where to keep the collection, instead of .ital in the folder."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="lite0 or lite1 (EfficientNet-Lite, bundled), or an ONNX file. That of the last "
            "run, or lite0, if not given."
        ),
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Side of the pictures that an ONNX file takes.", min=16)
    ] = None,
    layout: Annotated[str | None, typer.Option(help="Of the ONNX file: NCHW or NHWC.")] = None,
    normalise: Annotated[
        str | None,
        typer.Option(help="Colours for the ONNX file: imagenet, clip, half, unit, none or lite."),
    ] = None,
    output: Annotated[str | None, typer.Option(help="Output of the ONNX file to use.")] = None,
    crop: Annotated[
        float, typer.Option(help="Part of the shorter side that the model sees.", min=0.1, max=1)
    ] = 1.0,
    pca: Annotated[
        int | None,
        typer.Option(help="Reduce to so many dimensions from now on; 0 for all.", min=0),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 if files were skipped.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Only list what the last run skipped, and why.")
    ] = False,
) -> None:
    """Make a folder of pictures searchable, or bring its collection up to date.

    Run it again whenever the folder has changed, or when it was interrupted: only what is new is
    opened. Pictures that were moved or renamed are recognised. Exit codes: 0 done, 2 an error,
    3 done but some files were skipped (with --strict), 130 interrupted.
    """
    from ital.collection import describe
    from ital.collection import index as update
    from ital.collection.store import Store

    with _errors_as_messages():
        if report:
            skipped = Store.find(to or folder).skipped()
        else:
            if model is None and ((size, layout, normalise, output) != (None,) * 4 or crop != 1):
                raise ValueError("--size, --layout, --normalise, --output and --crop need --model")
            chosen = model and describe(model, size, layout, normalise, output, crop)
            with _indexing() as progress:
                done = update(folder, to, chosen or None, pca, progress)
            skipped = done.skipped
            Console().print(
                f"{done.pictures} pictures: {done.embedded} new or changed, {done.moved} moved or "
                f"copied, {done.unchanged} unchanged, {done.gone} gone, {len(skipped)} skipped"
            )
        _print_skipped(skipped)
    if strict and skipped:
        raise typer.Exit(3)


@app.command()
def serve(
    folders: Annotated[list[Path], typer.Argument(help="Folders of pictures.")],
    to: Annotated[
        Path | None,
        typer.Option(help="Where to keep the collection, if there is one folder."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen at. Any but this machine's own needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 for any that is free.", min=0, max=65535)] = 8000,
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
    index: Annotated[bool, typer.Option(help="Bring collections up to date first.")] = True,
    json_log: Annotated[bool, typer.Option("--json-log", help="Log as JSON lines.")] = False,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = False,
) -> None:
    """Search pictures in the browser.

    Indexes what is new in the background. Searches save themselves. Ctrl-C stops it.
    """
    if json_log:
        from ital.server.serve import log_as_json

        log_as_json()
    with _errors_as_messages():
        for folder in folders:
            if not folder.is_dir():
                raise ValueError(f"folder must be a folder of pictures, got {str(folder)!r}")
        if to is not None and len(folders) > 1:
            raise ValueError("--to is for one folder only")
        given = {
            "host": host,
            "port": port,
            "allowed_hosts": tuple(allow_host or ()),
            "token": token,
            "database": database,
        }
        _serve([(folder, to) for folder in folders], given, index, browser)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="Embeddings: .npy, .npz, .parquet or .lance.")],
    to: Annotated[Path, typer.Option(help="The folder for the collection.")],
    root: Annotated[Path, typer.Option(help="The folder of the pictures.")] = Path(),
    paths: Annotated[
        Path | None,
        typer.Option(help="A text file with the path of a picture on each line, from the root on."),
    ] = None,
) -> None:
    """Make a collection of embeddings that you have already.

    Vectors are looked for under the names features, embedding(s), vector(s) and X, paths under
    path(s), file(s), filename and image.
    """
    from ital.collection.imports import import_embeddings

    with _errors_as_messages():
        names = None if paths is None else paths.read_text(encoding="utf-8").splitlines()
        collection = import_embeddings(file, to, names, root)
        dimension = collection.features().shape[1]
    Console().print(f"{len(collection)} pictures of {dimension} dimensions are in {to}")


@app.command()
def export(
    collection: Annotated[Path, typer.Argument(help="The folder that was indexed.")],
    search: Annotated[Path, typer.Argument(help="A search that was saved.")],
    out: Annotated[Path, typer.Option(help="The file, or folder, to write.")],
    kind: Annotated[
        str,
        typer.Option("--format", help="csv, json, paths, copies (a folder of them) or links."),
    ] = "csv",
    top: Annotated[int | None, typer.Option(help="So many of the best.", min=1)] = None,
    threshold: Annotated[
        float | None, typer.Option(help="At least so probable (0 to 1).", min=0, max=1)
    ] = None,
) -> None:
    """Write labels and results of a saved search, the best first."""
    from ital.collection import Collection
    from ital.collection import export as exporting

    with _errors_as_messages():
        opened = Collection.open(collection)
        results = exporting.found(opened, opened.load_search(search), top, threshold)
        exporting.write(kind, results, opened.root, out)
    Console().print(f"{len(results)} pictures")
    _print_paths([out])


@bench.command("run")
def bench_run(
    out: Annotated[Path, typer.Option(help="The folder for this and other runs.")],
    data: Data = "digits",
    strategies: Annotated[
        str,
        typer.Option(
            help="Names with commas between them, or all. Parameters follow a colon, and then "
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
    pca: Pca = None,
    paper_queries: Annotated[
        bool, typer.Option("--paper-queries", help="The very queries of the paper.")
    ] = False,
    seed: Annotated[int, typer.Option(help="For queries, strategies and users.", min=0)] = 0,
    processes: Processes = None,
) -> None:
    """Ask strategies the same queries and keep what came of each.

    Every finished query is on disk at once. The same command goes on where a run was broken off.
    """
    from ital import strategies as known
    from ital.evaluation.experiment import Settings

    mark = ";" if ";" in strategies or ":" in strategies else ","
    labels = [label.strip() for label in strategies.split(mark) if label.strip()]
    with _errors_as_messages():
        settings = Settings(
            data=data,
            strategies=tuple(known.names() if labels == ["all"] else labels),
            queries=queries,
            rounds=rounds,
            batch=batch,
            user=user,
            pca=pca,
            paper_queries=paper_queries,
            seed=seed,
            **_kernel(config),
        )
        _run(settings, out / settings.folder, processes)


@bench.command("report")
def bench_report(
    runs: Annotated[Path, typer.Argument(help="The folder that 'ital bench run' wrote to.")],
) -> None:
    """Tables, tests and curves of all runs in a folder: a page, Markdown, CSV, PNG and SVG."""
    from ital.evaluation import report, tables

    console = Console()
    with _errors_as_messages():
        for run in tables.read(runs):
            table = Table(title=escape(run.name))
            columns = {
                column: title
                for column, title in report.columns(run).items()
                if column not in ("ndcg", "p_value", "queries")
            }
            for column, title in columns.items():
                table.add_column(title, justify="left" if column == "strategy" else "right")
            for row in run.rows:
                table.add_row(*(escape(report.text(row, column)) for column in columns))
            console.print(table)
        _print_paths(report.write(runs))


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
    with _errors_as_messages():
        found = list(paper.experiments(quick))
        if not found:
            raise ValueError("ITAL_DATA must name a folder with data of the paper, but has none")
        for settings in found:
            console.rule(settings.folder)
            chosen = replace(settings, **paper.kernel(settings, out))
            _run(chosen, out / settings.folder, processes)
        _print_paths(report.write(out))


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

    with _errors_as_messages(), console.status("Trying kernels …") as status:

        def report(trial: tuning.Trial) -> None:
            table.add_row(*describe(trial))
            status.update(f"Trying kernels … {table.row_count} so far, {trial.precision:.4f}")

        best, median = tuning.tune(load(data, pca), folds, shots, seed, report)
        tuning.write(best.kernel, out)
    console.print(table)
    for name, trial in (("median heuristic", median), ("best", best)):
        scale, variance, noise, precision = describe(trial)
        console.print(
            f"{name}: length scale {scale}, variance {variance}, noise {noise}: {precision}"
        )
    _print_paths([out])


@contextmanager
def _indexing() -> Iterator[Callable[[Any], None]]:
    """A bar with pictures per second and the time that is left; none if nothing has to be read."""
    columns = (
        TextColumn("Indexing"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, transient=True) as progress:
        bar = progress.add_task("", total=None, speed="")
        try:

            def report(done: Any) -> None:
                speed = progress.tasks[0].finished_speed or progress.tasks[0].speed
                progress.update(
                    bar,
                    total=done.total,
                    completed=done.done,
                    speed=f"{speed:.0f} pictures/s" if speed else "",
                )

            yield report
        except KeyboardInterrupt:
            Console(stderr=True).print("Interrupted. Run it again to go on.")
            raise typer.Exit(130) from None


def _serve(
    folders: list[tuple[Path, Path | None]],
    given: dict[str, Any],
    index: bool = True,
    browser: bool = False,
) -> None:
    """Serve folders until someone stops it, and say where."""
    from ital.server import ServerSettings, serve

    def ready(address: str) -> None:
        line = f"The page is at {address} (Ctrl-C stops it)"
        Console().print(line, soft_wrap=True, highlight=False, markup=False)
        if browser:
            webbrowser.open(address)

    # What is not given may be in the environment.
    settings = ServerSettings(**{name: one for name, one in given.items() if one is not None})
    serve(folders, settings, index, ready)


def _print_skipped(skipped: Sequence[Any]) -> None:
    from ital.collection.scan import printable

    for one in skipped:
        line = f"skipped {printable(one.path)}: {printable(one.reason)}"
        Console().print(line, soft_wrap=True, highlight=False, markup=False)


def _print_paths(paths: list[Path]) -> None:
    for path in paths:
        Console().print(f"wrote {path}", soft_wrap=True, highlight=False, markup=False)


def _run(settings: Any, folder: Path, processes: int | None) -> None:
    """Run an experiment with a bar for each strategy."""
    from ital.evaluation import runner

    columns = (TextColumn("{task.description:>20}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn()) as progress:
        bars = {
            label: progress.add_task(escape(label), total=None) for label in settings.strategies
        }

        def update(label: str, done: int, total: int) -> None:
            progress.update(bars[label], completed=done, total=total)

        runner.run(settings, folder, processes, update)


def _kernel(config: Path | None) -> dict[str, float]:
    from ital.evaluation import tune as tuning

    return {} if config is None else tuning.read(config)


@contextmanager
def _errors_as_messages() -> Iterator[None]:
    """What is wrong with an argument or with data is said in a line, with the exit code 2."""
    try:
        yield
    except typer.Exit:
        raise
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        message = f"[red]Error:[/] {escape(str(error))}"
        Console(stderr=True).print(message, soft_wrap=True, highlight=False)
        raise typer.Exit(2) from error
