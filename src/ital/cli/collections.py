"""Collections of pictures: `ital index` and `import`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ital.cli.output import errors_as_messages, indexing, note

app = typer.Typer()

_MANY, _FEW_DIMENSIONS = 200_000, 128
"""Pictures from which on fewer dimensions in 16 bits are recommended, and how many."""


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
            help="lite0 or lite1 (EfficientNet-Lite, bundled), one that ital models lists, an ONNX "
            "file, or several with + between. That of the last run, or lite0, if not given."
        ),
    ] = None,
    text_model: Annotated[
        Path | None,
        typer.Option(
            help="The ONNX file that describes text for the one that describes pictures, with "
            "tokenizer.json beside it. That of the last run if not given."
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
        float | None,
        typer.Option(help="Part of the shorter side that the model sees.", min=0.1, max=1),
    ] = None,
    pca: Annotated[
        int | None,
        typer.Option(help="Reduce to so many dimensions from now on; 0 for all.", min=0),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="Keep embeddings in float16, half as much memory and disk, or in float32. As "
            "before, or float32, if not given; what was rounded to float16 stays so."
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Read the pictures over a Ray cluster instead of by this process: HOST:PORT, "
            "auto, or local, which starts a Ray here and ends it. Its machines must share the "
            "folder.",
        ),
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

    with errors_as_messages():
        if report:
            skipped = Store.find(to or folder).skipped()
            if not skipped:
                Console().print("Nothing was skipped.")
        else:
            text = None if text_model is None else str(text_model)
            options = (size, layout, normalise, output, crop, text)
            if model is None and options != (None,) * 6:
                raise ValueError(
                    "--size, --layout, --normalise, --output, --crop and --text-model need --model"
                )
            chosen = model and describe(model, *options)
            with indexing() as progress:
                done = update(folder, to, chosen or None, pca, progress, store=store, ray=ray)
            skipped = done.skipped
            Console().print(
                f"{done.pictures} pictures: {done.embedded} new or changed, {done.moved} moved or "
                f"copied, {done.unchanged} unchanged, {done.gone} gone, {len(skipped)} skipped"
            )
            if done.pictures >= _MANY and pca is None and store is None:
                _recommend_less(folder, to)
        _print_skipped(skipped)
    if strict and skipped:
        raise typer.Exit(3)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="Embeddings: .npy, .npz, .parquet or .lance.")],
    to: Annotated[Path, typer.Option(help="The folder for the collection.")],
    root: Annotated[Path, typer.Option(help="The folder of the pictures.")] = Path(),
    paths: Annotated[
        Path | None,
        typer.Option(help="A text file with the path of a picture on each line, from the root on."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(help="Keep embeddings in float16, half as much, or in float32, the default."),
    ] = None,
) -> None:
    """Make a collection of embeddings that you have already.

    Vectors are looked for under the names features, embedding(s), vector(s) and X, paths under
    path(s), file(s), filename and image.
    """
    from ital.collection.imports import import_embeddings, missing, read_paths
    from ital.collection.scan import printable

    with errors_as_messages():
        names = None if paths is None else read_paths(paths)
        collection = import_embeddings(file, to, names, root, store)
        dimension = collection.features().shape[1]
        absent = missing(collection.root, collection.paths)
    Console().print(f"{len(collection)} pictures of {dimension} dimensions are in {to}")
    if absent:
        note(
            f"{len(absent)} of {len(collection)} pictures are not there, the first of them "
            f"{printable(absent[0])}"
        )


def _recommend_less(folder: Path, to: Path | None) -> None:
    """Say how a large collection can take less, unless it does already. Figures: docs."""
    from ital.collection import Collection

    features = Collection.open(to or folder).features()
    if features.dtype == "float32" and features.shape[1] > _FEW_DIMENSIONS:
        note(
            f"For so many pictures, run ital index again with --pca {_FEW_DIMENSIONS} --store "
            f"float16: in memory, each takes {2 * _FEW_DIMENSIONS} bytes instead of "
            f"{features[0].nbytes}, and a round of questions about half of the time. It costs "
            "about 0.01 of the area under the curve, and no picture is opened for it."
        )


def _print_skipped(skipped: Sequence[Any]) -> None:
    from ital.collection.scan import printable

    for one in skipped:
        line = f"skipped {printable(one.path)}: {printable(one.reason)}"
        Console().print(line, soft_wrap=True, highlight=False, markup=False)
