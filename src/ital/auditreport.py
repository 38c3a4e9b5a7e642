"""What an audit has found, in intervals and in words."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from ital import checks, intervals
from ital.intervals import Estimate
from ital.strata import evenly_shared

Part = Literal["precision", "missed"]
"""What may be wanted more closely."""

_BELOW = ("next", "further")
"""Where strata below the threshold are."""

_TOLD: dict[Part, str] = {"precision": "how many are right", "missed": "how many you would miss"}


@dataclass(frozen=True)
class Sample:
    """What was seen of a stratum."""

    size: int
    draws: int
    hits: int
    """Draws to which the person said yes."""
    expected: float
    """What was believed before; it stands for the number as long as nothing was seen."""

    @property
    def is_open(self) -> bool:
        """Whether some of its images have not been seen."""
        return self.draws < self.size

    def relevant(self, fewer: float, more: float) -> Estimate:
        """How many of the stratum are relevant, with these chances of fewer and of more."""
        low = intervals.least(self.hits, self.draws, self.size, fewer)
        high = intervals.most(self.hits, self.draws, self.size, more)
        value = self.hits * self.size / self.draws if self.draws else self.expected
        return Estimate(min(max(value, low), high), low, high)

    def after(self, draws: int) -> Sample:
        """The same after so many draws in all, if hits go on to come as they did."""
        more = max(draws - self.draws, 0)
        hits = round(more * self.hits / self.draws) if self.draws else 0
        return replace(self, draws=self.draws + more, hits=self.hits + hits)


@dataclass(frozen=True)
class Samples:
    """All that was seen of those that would be taken, or of those that would not."""

    size: int
    known: int
    """Relevant images that were known before."""
    strata: tuple[Sample, ...]

    def parts(self, chance: float) -> list[Estimate]:
        """How many of each stratum are relevant; this is the chance that one has fewer, or more.

        Draws from one stratum tell nothing of those from another, so that they share the chance by
        Šidák's rule. At the lower end the shares are the same. At the upper end they are in
        proportion to sizes: n draws without a hit leave up to -log(share) / n of a stratum, and in
        sum over strata with the same number of draws that is least with these shares. A stratum
        that has been seen to its end is known, and needs none.
        """
        sizes = [one.size if one.is_open else 0 for one in self.strata]
        every, among = max(sum(sizes), 1), max(sum(size > 0 for size in sizes), 1)
        return [
            one.relevant(
                intervals.shared(chance, 1 / among), intervals.shared(chance, size / every)
            )
            for one, size in zip(self.strata, sizes, strict=True)
        ]

    def relevant(self, chance: float) -> Estimate:
        """How many are relevant in all; each end errs with no more than this chance."""
        return sum(self.parts(chance), Estimate(self.known, self.known, self.known))


@dataclass(frozen=True)
class AuditReport:
    """What is right among the images that would be taken, and what would be missed.

    Each interval by itself holds the truth with a chance of ``level`` or more, whatever the model
    believes: chance is in the draws alone.
    """

    level: float
    above: Samples
    below: Samples
    unsure: int
    """Answers that were no answer. They count as not relevant."""

    @property
    def taken(self) -> int:
        """Images that would be taken."""
        return self.above.size

    @property
    def answers(self) -> int:
        """Answers that count: an answer does once all that were drawn before it have one."""
        return sum(one.draws for part in (self.above, self.below) for one in part.strata)

    @cached_property
    def right(self) -> Estimate:
        """How many of those that would be taken are relevant."""
        return self.above.relevant(self._chance)

    @cached_property
    def precision(self) -> Estimate:
        """Which part of those that would be taken is relevant."""
        return self.right.over(self.taken)

    @cached_property
    def missed(self) -> Estimate:
        """How many of the others are relevant."""
        return self.below.relevant(self._chance)

    @cached_property
    def recall(self) -> Estimate:
        """Which part of what is relevant would be taken.

        It is least where fewest are right and most are missed. Both together err in each direction
        as seldom as the other intervals, since above and below are drawn from independently.
        """
        each = intervals.shared(self._chance, 1 / 2)
        right, missed = self.above.relevant(each), self.below.relevant(each)
        parts = (
            (right.value, missed.value),
            (right.low, missed.high),
            (right.high, missed.low),
        )
        return Estimate(*(taken / (taken + left) if left else 1.0 for taken, left in parts))

    def needed(self, width: float, of: Part = "precision") -> int | None:
        """About how many more answers leave an interval of this width, if hits come as they did.

        The width is a part of those that would be taken for the precision, and a number of images
        for what is missed. ``None`` as long as there is nothing to go by: no answer in a stratum.
        """
        if of not in _TOLD:
            raise ValueError(f"of must be 'precision' or 'missed', got {of!r}")
        checks.number(width, "width", "a number of at least 0", least=0.0)
        concerned = (self.above if of == "precision" else self.below).strata
        if any(one.size and not one.draws for one in concerned):
            return None
        strata = (*self.above.strata, *self.below.strata)
        left = sum(one.size - one.draws for one in strata)

        def is_enough(more: int) -> bool:
            after: Estimate = getattr(self._after(more), of)
            return after.width <= width

        most = 1
        while most < left and not is_enough(most):
            most *= 2
        return bisect_left(range(min(most, left)), True, key=is_enough)

    @property
    def sentence(self) -> str:
        """The findings, in plain words."""
        return f"{_said_of_taken(self.taken, self.right)}; {_said_of_missed(self.missed)}."

    @property
    def advice(self) -> str:
        """What is still open, and what more answers would tell, in plain words."""
        said = []
        if self.unsure:
            said.append(f"{_pictures(self.unsure)} could not be judged and count as no match.")
        parts = zip(self.below.strata, self.below.parts(self._chance), _BELOW, strict=True)
        without = [
            f"None of {one.draws:,} looked at among the {one.size:,} {where} below is a match: "
            f"up to {found.high:,} may be."
            for one, found, where in parts
            if one.draws and not one.hits and one.is_open
        ]
        if without:
            said += [*without, "As a rule, n looks without a match leave up to 3/n of them."]
        for part, told in _TOLD.items():
            now: Estimate = getattr(self, part)
            if now.width and (more := self.needed(now.width / 2, part)):
                said.append(f"About {more:,} more answers would tell {told} twice as closely.")
        if not said:
            is_open = self.precision.width or self.missed.width
            said.append("A few answers will tell more." if is_open else "All of it is known.")
        return " ".join(said)

    def __str__(self) -> str:
        return self.sentence

    @property
    def _chance(self) -> float:
        return (1 - self.level) / 2  # for each end

    def _after(self, more: int) -> AuditReport:
        """The report to be expected after some more answers."""
        strata = (*self.above.strata, *self.below.strata)
        shares = evenly_shared(self.answers + more, [one.size for one in strata])
        after = tuple(one.after(share) for one, share in zip(strata, shares, strict=True))
        above = len(self.above.strata)
        return replace(
            self,
            above=replace(self.above, strata=after[:above]),
            below=replace(self.below, strata=after[above:]),
        )


def _said_of_taken(taken: int, right: Estimate) -> str:
    if not taken:
        return "You would take nothing"
    if taken == 1:
        sure = "right" if right.low else "wrong"
        return f"The one you would take is {'right or wrong' if right.width else sure}"
    are = "is" if right.high == right.low == 1 else "are"
    return f"Of the {taken:,} you would take, {_numbers(right, 'to', taken)} {are} right"


def _said_of_missed(missed: Estimate) -> str:
    return f"you would miss {'between ' if missed.width else ''}{_numbers(missed, 'and')}"


def _numbers(found: Estimate, between: str, of: int | None = None) -> str:
    if found.width:
        return f"{found.low:,.0f} {between} {found.high:,.0f}"
    if found.high == of:
        return "all"
    return f"{found.high:,.0f}" if found.high else "none"


def _pictures(count: int) -> str:
    return "One picture" if count == 1 else f"{count:,} pictures"
