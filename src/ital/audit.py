"""Checking what a search has found: how much of it is right, and how much it misses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ital import checks, strata
from ital.auditreport import AuditReport, Sample, Samples
from ital.checks import Identifier, IntArray
from ital.history import labels_of
from ital.pool import Pool
from ital.ranking import Ranking
from ital.turns import Turns, in_turn

ABOVE = 1
"""The number of strata of which all would be taken. The others are below the threshold."""


class Audit:
    """Exact intervals for what is right among the images above a threshold, and what is missed.

    When it begins, ranking and threshold are frozen, and the images that have no label yet are cut
    into three strata: (a) those that would be taken, (b) near misses, the first ones below the
    threshold that hold half of what the model believes to be missed, and (c) all others. Images
    with a label are known, and counted as what they were called.

    Each stratum gets the same number of draws. So a near miss is much more likely to be looked at
    than an image far below, as near misses are few, and yet (c) is not left out: a bound on what is
    missed is no better than what is known of the largest stratum. There is no fourth one, because
    each makes all bounds a little wider. Draws are uniform, without replacement, and their order
    depends on the seed alone, never on answers. Where the model is wrong, the strata are cut at
    another place than they might be, and all intervals hold just the same.

    ``Search.audit`` begins one. Threads may share it.

    Args:
        pool: the images.
        ranking: their order, and what is believed of them.
        labels: what is known already.
        threshold: images of at least this probability would be taken.
        seed: of the draws.
        teach: what passes answers on to the search.

    """

    def __init__(
        self,
        pool: Pool,
        ranking: Ranking,
        labels: Mapping[Identifier, bool | None],
        threshold: float,
        seed: int = 0,
        teach: Callable[[Mapping[Identifier, int]], None] | None = None,
    ) -> None:
        self.threshold = checks.probability(threshold, "threshold")
        self.seed = checks.whole_number(seed, "seed", least=0)
        self._pool, self._teach = pool, teach
        self._taken, self._images = ranking.above(self.threshold), len(ranking)
        said = np.zeros(len(ranking), dtype=np.int8)
        for image, label in labels.items():
            said[pool.row(image)] = 1 if label else -1
        said = said[ranking.rows]
        self._known = [int(np.count_nonzero(part == 1)) for part in np.split(said, [self._taken])]
        self.strata = strata.cut(ranking, self._taken, said != 0)
        self._draws = strata.draws(self.strata, self.seed)
        self._asked: dict[Identifier, int] = {}
        self._answers: dict[Identifier, int] = {}
        self._turns = Turns()

    @property
    @in_turn
    def answers(self) -> dict[Identifier, bool | None]:
        """What was said so far: relevant, irrelevant or (``None``) unnameable."""
        return {image: None if label == 0 else label > 0 for image, label in self._answers.items()}

    @in_turn
    def ask(self, count: int) -> IntArray:
        """The ``count`` images to look at next; all that are left if fewer.

        The strata take turns. Images without an answer come first, so that asked again, it says
        the same until something is answered.
        """
        count = checks.whole_number(count, "count", least=1)
        waiting = [image for image in self._asked if image not in self._answers]
        while len(waiting) < count and (drawn := next(self._draws, None)) is not None:
            number, row = drawn
            (name,) = self._pool.identifiers(np.array([row])).tolist()
            self._asked[Identifier(name)] = number
            waiting.append(Identifier(name))
        return np.array(waiting[:count], dtype=np.int64)

    @in_turn
    def answer(self, answers: Mapping[Any, Any], teach: bool = True) -> None:
        """Take what the user says of images that were asked about: True, False, None: cannot say.

        An image that was answered before takes the new answer. The search learns from answers, too,
        unless ``teach`` is false.
        """
        labels = labels_of(answers, self._pool)
        for image in labels:
            if image not in self._asked:
                raise ValueError(
                    f"answers must be about images that the audit has asked about, got {image}: "
                    "call ask(count)"
                )
        if labels and teach and self._teach is not None:
            self._teach(labels)
        self._answers |= labels

    @in_turn
    def retract(self, images: Iterable[Identifier]) -> None:
        """Take back what was said of some images, which are asked about again.

        What the search has learnt of them it keeps: see ``Search.undo``.
        """
        for image in images:
            self._answers.pop(image, None)

    @in_turn
    def report(self, level: float = 0.9) -> AuditReport:
        """What is known now, in intervals that hold the truth with a chance of ``level``.

        An answer counts once all images that were drawn before it from the same stratum have one.
        So it does not matter which of them a person prefers to answer.
        """
        allowed = "a number from 0.5 to 0.999"
        level = checks.number(level, "level", allowed, least=0.5, most=0.999)
        seen: list[Counter[int]] = [Counter() for _ in self.strata]
        waiting: set[int] = set()
        for image, number in self._asked.items():
            if image not in self._answers:
                waiting.add(number)
            elif number not in waiting:
                seen[number][self._answers[image]] += 1
        samples = tuple(
            Sample(len(stratum), said.total(), said[1], stratum.expected)
            for stratum, said in zip(self.strata, seen, strict=True)
        )
        right, missed = self._known
        return AuditReport(
            level,
            Samples(self._taken, right, samples[:ABOVE]),
            Samples(self._images - self._taken, missed, samples[ABOVE:]),
            sum(said[0] for said in seen),
        )
