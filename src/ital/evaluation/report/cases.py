"""The best and the worst case of a strategy, question by question, as pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ital.answers import Answer
from ital.evaluation.datasets import DataError
from ital.evaluation.experiment import Player, Result
from ital.evaluation.metrics import area_under_curve
from ital.evaluation.tables import Run

_PIXELS = 56


@dataclass(frozen=True)
class Question:
    picture: str
    """An image as a data URI."""
    answer: str


@dataclass(frozen=True)
class Played:
    """What one strategy asked about a query."""

    strategy: str
    precision: list[float]
    rounds: list[list[Question]]


@dataclass(frozen=True)
class Case:
    title: str
    query: str
    played: list[Played]


def cases(run: Run) -> list[Case]:
    """Where the run's main strategy does best and worst beside the best of the others.

    None for data without pictures, or that are not here.
    """
    try:
        player = Player.of(run.settings)
    except DataError:
        return []
    dataset = player.dataset
    if dataset.image is None or run.features not in (None, player.fingerprint()):
        return []
    labels = [row.strategy for row in run.rows]
    main = run.main or labels[0]
    played = {label: {(one.task, one.place): one for one in run.results[label]} for label in labels}
    ours = played[main]
    # Entropy and ital ask the same of a perfect user.
    other = next(
        (
            label
            for label in labels
            if any(played[label][key].questions != ours[key].questions for key in ours)
        ),
        None,
    )
    if other is None:
        return []
    theirs = played[other]
    gains = {
        key: area_under_curve(ours[key].precision) - area_under_curve(theirs[key].precision)
        for key in ours
    }
    best, worst = max(gains, key=lambda key: gains[key]), min(gains, key=lambda key: gains[key])
    image = dataset.image

    def picture(number: int) -> str:
        return data_uri(image(number))

    return [
        Case(
            f"{word} case of {main}: {ours[key].name}, {gains[key]:+.3f} against {other}",
            picture(ours[key].query),
            [_played(label, one[key], picture) for label, one in ((main, ours), (other, theirs))],
        )
        for word, key in {"Best": best, "Worst": worst}.items()
        if word == "Best" or key != best
    ]


def _played(strategy: str, result: Result, picture: Callable[[int], str]) -> Played:
    return Played(
        strategy,
        result.precision,
        [
            [Question(picture(i), Answer.of(a).value) for i, a in zip(asked, told, strict=True)]
            for asked, told in zip(result.questions, result.answers, strict=True)
        ],
    )


def data_uri(pixels: npt.NDArray[np.uint8]) -> str:
    """A picture to stand in a page, as a PNG of fixed size."""
    from PIL import Image

    buffer = io.BytesIO()
    small = pixels.shape[0] < _PIXELS
    sampling = Image.Resampling.NEAREST if small else Image.Resampling.LANCZOS
    Image.fromarray(pixels).resize((_PIXELS, _PIXELS), sampling).save(buffer, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
