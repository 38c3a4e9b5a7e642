"""What a person says of an image: one vocabulary for library, files, the API and the terminal."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import numpy as np


class Answer(Enum):
    """Relevant, irrelevant, or neither can be told. Its value is the word for it."""

    _value_: Literal["yes", "no", "unsure"]

    YES = "yes"
    NO = "no"
    UNSURE = "unsure"

    @property
    def number(self) -> int:
        """1, -1 or 0: what the model calls it, section 3.2."""
        return _NUMBERS[self]

    @classmethod
    def of(cls, said: Any, name: str = "answer") -> Answer:
        """An answer from whichever form a person may give it in.

        ``False`` is a no while 0 is unsure, so the type comes first. In texts, as files have them,
        the number -1 and the word false are a no, too, in small or capital letters.
        """
        if isinstance(said, Answer):
            return said
        if said is None:
            return cls.UNSURE
        if isinstance(said, (bool, np.bool_)):
            return cls.YES if said else cls.NO
        if isinstance(said, (int, float, np.integer, np.floating)) and said in (-1, 0, 1):
            return _TEXTS[str(int(said))]
        if isinstance(said, str) and said.strip().lower() in _TEXTS:
            return _TEXTS[said.strip().lower()]
        raise ValueError(
            f"{name} must be yes, no or unsure (or True, False, None; or 1, -1, 0), got {said!r}"
        )


_NUMBERS = {Answer.YES: 1, Answer.NO: -1, Answer.UNSURE: 0}

_TEXTS = {
    **{answer.value: answer for answer in Answer},
    **{str(number): answer for answer, number in _NUMBERS.items()},
    "true": Answer.YES,
    "false": Answer.NO,
}
