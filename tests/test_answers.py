from __future__ import annotations

import numpy as np
import pytest

from ital.answers import Answer


@pytest.mark.parametrize(
    ("answer", "forms"),
    [
        (Answer.YES, [True, np.True_, 1, 1.0, np.int8(1), "yes", " Yes ", "1", "TRUE"]),
        (Answer.NO, [False, np.False_, -1, -1.0, np.int64(-1), "no", "NO", "-1", "false"]),
        (Answer.UNSURE, [None, 0, 0.0, np.int16(0), "unsure", "0"]),
    ],
)
def test_every_form_of_an_answer(answer, forms):
    for said in (answer, answer.value, answer.number, *forms):
        assert Answer.of(said) is answer


@pytest.mark.parametrize("said", [2, 0.5, float("nan"), "", "maybe", "none", [], b"yes"])
def test_what_is_no_answer(said):
    with pytest.raises(ValueError, match="label must be yes, no or unsure") as caught:
        Answer.of(said, "label")
    assert repr(said) in str(caught.value)


def test_numbers_are_those_of_the_model():
    assert {answer.value: answer.number for answer in Answer} == {"yes": 1, "no": -1, "unsure": 0}
