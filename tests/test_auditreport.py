"""Coverage of what is reported, exactly: over all that can be drawn from small strata."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ital.auditreport import AuditReport, Sample, Samples
from ital.intervals import Estimate
from oracle import hits_probability


def report(draws, hits, sizes, known=(0, 0), level=0.9, unsure=0, expected=0.0) -> AuditReport:
    samples = [
        Sample(size, drawn, hit, expected)
        for size, drawn, hit in zip(sizes, draws, hits, strict=True)
    ]
    return AuditReport(
        level,
        Samples(sizes[0] + known[0], known[0], tuple(samples[:1])),
        Samples(sum(sizes[1:]) + known[1], known[1], tuple(samples[1:])),
        unsure,
    )


@st.composite
def designs(draw, largest=6):
    sizes = [draw(st.integers(0, largest)) for _ in range(3)]
    return sizes, [draw(st.integers(0, size)) for size in sizes]


@settings(max_examples=40)
@given(designs(), st.data(), st.sampled_from([0.5, 0.8, 0.9]))
def test_every_interval_holds_the_truth_as_often_as_it_says(design, data, level):
    """For any true numbers, over all outcomes of all draws."""
    sizes, draws = design
    true = [data.draw(st.integers(0, size)) for size in sizes]
    known = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
    right, missed = known[0] + true[0], known[1] + sum(true[1:])
    taken = sizes[0] + known[0]
    facts = {
        "right": right,
        "precision": right / taken if taken else 1,
        "missed": missed,
        "recall": right / (right + missed) if right + missed else 1,
    }
    wrong = dict.fromkeys(facts, 0)
    for hits in product(*(range(drawn + 1) for drawn in draws)):
        chance = prod(map(hits_probability, hits, draws, sizes, true))
        if chance:
            found = report(draws, hits, sizes, known, level)
            for name, fact in facts.items():
                one = getattr(found, name)
                assert one.low <= one.value <= one.high
                wrong[name] += chance * (not one.low - 1e-12 <= fact <= one.high + 1e-12)
    assert all(chance <= 1 - level for chance in wrong.values()), {
        k: float(v) for k, v in wrong.items()
    }


@given(designs(12), st.data())
def test_more_is_said_with_more_confidence_only_in_wider_intervals(design, data):
    sizes, draws = design
    hits = [data.draw(st.integers(0, drawn)) for drawn in draws]
    for name in ("right", "missed", "recall"):
        narrow, wide = (getattr(report(draws, hits, sizes, level=one), name) for one in (0.8, 0.95))
        assert wide.low <= narrow.low <= narrow.high <= wide.high


@given(designs(12), st.data())
def test_what_has_been_seen_to_its_end_is_known(design, data):
    sizes, _ = design
    hits = [data.draw(st.integers(0, size)) for size in sizes]
    found = report(sizes, hits, sizes, known=(1, 2))
    assert found.right == Estimate(hits[0] + 1, hits[0] + 1, hits[0] + 1)
    assert found.missed.low == found.missed.high == sum(hits[1:]) + 2
    assert found.recall.width == 0
    assert found.advice == "All of it is known."
    assert found.needed(0) == found.needed(0, "missed") == 0


def test_the_largest_stratum_gets_most_of_what_may_go_wrong():
    """So that two strata without a hit leave little more than one alone."""
    alone = report((0, 0, 20), (0, 0, 0), (0, 0, 3000)).missed.high
    both = report((0, 20, 20), (0, 0, 0), (0, 60, 3000)).missed.high
    assert alone < both < 1.03 * alone + 0.25 * 60


def test_what_is_believed_stands_where_nothing_was_seen():
    found = report((0, 0, 5), (0, 0, 0), (10, 10, 10), expected=7.5)
    assert found.right == Estimate(7.5, 0, 10)
    assert found.missed.value == 7.5
    assert report((0, 0, 0), (0, 0, 0), (10, 0, 0), expected=12.0).right.value == 10


@pytest.mark.parametrize(
    ("draws", "hits", "sizes", "known", "sentence"),
    [
        (
            (4, 4, 4),
            (4, 1, 0),
            (4, 4, 4),
            (0, 0),
            "Of the 4 you would take, all are right; you would miss 1.",
        ),
        (
            (4, 4, 4),
            (1, 0, 0),
            (4, 4, 4),
            (0, 0),
            "Of the 4 you would take, 1 is right; you would miss none.",
        ),
        (
            (4, 0, 0),
            (0, 0, 0),
            (4, 0, 0),
            (0, 0),
            "Of the 4 you would take, none are right; you would miss none.",
        ),
        (
            (0, 0, 0),
            (0, 0, 0),
            (0, 9, 1990),
            (0, 1),
            "You would take nothing; you would miss between 1 and 2,000.",
        ),
        (
            (0, 0, 0),
            (0, 0, 0),
            (1, 0, 0),
            (0, 0),
            "The one you would take is right or wrong; you would miss none.",
        ),
        (
            (0, 0, 0),
            (0, 0, 0),
            (0, 0, 0),
            (1, 1),
            "The one you would take is right; you would miss 1.",
        ),
        (
            (1, 0, 0),
            (0, 0, 0),
            (1, 0, 0),
            (0, 0),
            "The one you would take is wrong; you would miss none.",
        ),
        (
            (0, 1, 1),
            (0, 0, 0),
            (2000, 1, 1),
            (0, 0),
            "Of the 2,000 you would take, 0 to 2,000 are right; you would miss none.",
        ),
    ],
)
def test_sentences(draws, hits, sizes, known, sentence):
    found = report(draws, hits, sizes, known)
    assert str(found) == found.sentence == sentence


def test_advice():
    nothing = report((0, 0, 0), (0, 0, 0), (10, 10, 10))
    assert nothing.advice == "A few answers will tell more."
    found = report((20, 20, 20), (15, 5, 0), (200, 60, 3000), unsure=2)
    most = found.below.parts(0.05)[1].high
    assert "2 pictures could not be judged and count as no match." in found.advice
    assert (
        f"None of 20 looked at among the 3,000 further below is a match: up to {most} may be. "
        "As a rule, n looks without a match leave up to 3/n of them." in found.advice
    )
    none = report((4, 4, 4), (4, 0, 0), (200, 60, 3000)).advice
    assert (none.count("None of 4"), none.count("3/n")) == (2, 1)
    assert "next below" not in found.advice
    for part in ("precision", "missed"):
        more = found.needed(getattr(found, part).width / 2, part)
        assert f"About {more} more answers would tell" in found.advice
    assert report((1, 1, 1), (1, 1, 1), (9, 9, 9), unsure=1).advice.startswith("One picture could")


class TestNeeded:
    def test_so_many_are_enough_and_fewer_are_not(self):
        found = report((20, 20, 20), (15, 5, 0), (200, 60, 3000))
        for part, width in (("precision", 0.1), ("missed", 100)):
            more = found.needed(width, part)
            assert getattr(found._after(more), part).width <= width
            assert getattr(found._after(more - 3), part).width > width
        assert found.needed(1) == 0
        nothing_open = found.needed(0, "missed")
        assert found._after(nothing_open).missed.width == 0
        assert nothing_open <= 3200

    def test_it_cannot_be_told_before_anything_was_seen(self):
        found = report((20, 20, 0), (15, 5, 0), (200, 60, 3000))
        assert found.needed(0.1) > 0
        assert found.needed(100, "missed") is None

    def test_without_hits_it_is_three_in_so_many_draws(self):
        """3,000 x 3 / n = 100: ninety draws from the largest of three strata, in turns."""
        found = report((20, 20, 20), (20, 0, 0), (10**6, 10**6, 3000))
        far = report((0, 0, 20), (0, 0, 0), (0, 0, 3000))
        assert far.needed(100, "missed") == pytest.approx(90 - 20, abs=5)
        assert found.needed(0.1) == pytest.approx(3 * (30 - 20), abs=6)

    def test_arguments(self):
        found = report((1, 1, 1), (1, 1, 1), (9, 9, 9))
        with pytest.raises(ValueError, match="of must be 'precision' or 'missed', got 'recall'"):
            found.needed(1, "recall")
        with pytest.raises(ValueError, match="width must be a number of at least 0, got -1"):
            found.needed(-1)
