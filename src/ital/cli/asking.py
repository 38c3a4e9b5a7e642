"""Questions one at a time, with a way back: what `ital ask` does with the keys."""

from __future__ import annotations

from collections.abc import Callable

from ital.answers import Answer
from ital.checks import Identifier
from ital.history import Event, joined
from ital.insight import likeliest_first
from ital.search import Search


class Asking:
    """A search whose rounds are answered picture by picture.

    The search always knows all answers so far, and those of a round are one event of it.
    """

    def __init__(self, search: Search, batch: int, save: Callable[[], None]) -> None:
        self.search = search
        self._size, self._save = batch, save
        self._before: list[Event] = []
        self._told: list[Event] = []
        self._asked: list[Identifier] = []
        self._begin()

    @property
    def question(self) -> Identifier | None:
        """The picture that is asked about; ``None`` if there is none left."""
        return self._asked[len(self._told)] if self._asked else None

    @property
    def number(self) -> tuple[int, int]:
        """Which question of how many in this round it is."""
        return len(self._told) + 1, len(self._asked)

    def answer(self, answer: Answer) -> bool:
        """Take the answer to the question. Returns whether it was the last of its round."""
        assert self.question is not None
        self.search.answer({self.question: answer})
        self._told.append(self.search.events[-1])
        self._learn()
        if len(self._told) < len(self._asked):
            return False
        self._begin()
        return True

    def undo(self) -> bool:
        """Take back the last answer, and ask once more. Returns whether there was one."""
        if not self._told and not self._return():
            return False
        self._told.pop()
        self._learn()
        return True

    def _begin(self) -> None:
        """Ask the questions of the next round."""
        self._before, self._told = list(self.search.events), []
        self._asked = []
        if len(self.search.labels) < len(self.search):
            batch = likeliest_first(self.search, self.search.suggest(self._size))
            self._asked = [Identifier(int(one)) for one in batch]

    def _return(self) -> bool:
        """Go back to the end of the round before, if its last question can be asked again."""
        if not self._before or self._before[-1].kind != "answer":
            return False
        *before, last = self._before
        told = [
            Event(
                "answer", {image: label}, asked={k: v for k, v in last.asked.items() if k == image}
            )
            for image, label in last.labels.items()
        ]
        images = list(last.labels)
        if images[-1] not in self.search.model.pool:
            return False
        self._before, self._told, self._asked = before, told, images
        return True

    def _learn(self) -> None:
        told = [joined(self._told)] if self._told else []
        self.search.replay([*self._before, *told])
        self._save()
