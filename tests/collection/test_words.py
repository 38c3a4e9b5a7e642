from __future__ import annotations

import numpy as np
import pytest

from ital.collection.words import MOST, Words, likeness


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("a red bus", ("a red bus",), ()),
        (
            " a street\tin the rain , not  at night,, NOT a car",
            ("a street in the rain",),
            ("at night", "a car"),
        ),
        (["a street, at night", "not in the rain"], ("a street, at night",), ("in the rain",)),
        ("nothing, a knot", ("nothing", "a knot"), ()),
        ("not", ("not",), ()),
        ("not at night", (), ("at night",)),
    ],
)
def test_phrases(text, wanted, unwanted):
    words = Words.of(text)
    assert (words.wanted, words.unwanted) == (wanted, unwanted)
    assert Words.of(list(words.phrases)) == words


@pytest.mark.parametrize("text", ["", " , ", [], ["a"] * (MOST + 1)])
def test_too_few_and_too_many(text):
    with pytest.raises(ValueError, match=f"text must be 1 to {MOST} phrases, got "):
        Words.of(text)


def test_what_is_no_text():
    for text in (["red", 3], 3, {"red"}):
        with pytest.raises(TypeError, match="text must be a phrase, or several, got"):
            Words.of(text)


def test_scores_are_differences_of_mean_likenesses():
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=5) for name in ("a", "b", "c", "d", "e")}
    features = rng.normal(size=(10_000, 5)).astype(np.float16)
    for text in ("a", "a, b, not c", "not d, not e, a", "not b"):
        words = Words.of(text)
        direction = words.direction(lambda phrases: np.stack([table[one] for one in phrases]))
        literal = np.zeros(len(features))
        for part, sign in ((words.wanted, 1), (words.unwanted, -1)):
            for one in part:
                literal += sign * (features.astype(float) @ table[one]) / len(part)
        np.testing.assert_allclose(likeness(features, direction), literal, atol=1e-12)
