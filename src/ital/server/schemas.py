"""What goes over the wire: requests and answers of the HTTP API."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)
from pydantic_core import PydanticCustomError

from ital import strategies

_UNSEEN = (
    r"\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    r"\ufeff\ufff9-\uffff"
)
_NAME = rf"[^{_UNSEEN}\u200c\u200d][^{_UNSEEN}]*"
"""No line breaks, no controls, of the direction of writing neither, and nothing that takes no
room, but for what joins letters and emoji."""

_NUMBER = r"0|[1-9][0-9]{0,15}"


def _check_name(name: str) -> str:
    if not re.fullmatch(_NAME, name):
        detail = "must have no line breaks, control characters or invisible characters"
        raise PydanticCustomError("name", detail)
    return name


def _number(key: object) -> object:
    """A key as a number: in JSON it is a text. Others that Python would take for it are not."""
    return int(key) if isinstance(key, str) and re.fullmatch(_NUMBER, key) else key


def _without_default(schema: dict[str, Any]) -> None:
    """Let clients make pictures of their own without a value: one with a default is demanded."""
    del schema["default"]


Identifier = Annotated[int, Field(ge=0, le=2**53)]
Answer = Literal["yes", "no", "unsure"]
Key = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(_check_name),
    Field(json_schema_extra={"pattern": f"^{_NAME}$"}),
]
Words = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=1000),
    AfterValidator(_check_name),
    Field(json_schema_extra={"pattern": f"^{_NAME}$"}),
]
Probability = Annotated[float, Field(ge=0, le=1)]
Layout = Literal["folders", "coco", "imagefolder"]
Conflicts = Literal["skip", "first"]
"""What becomes of pictures that several classes claim."""


class Schema(BaseModel):
    # Strictly: true is not picture 1, nor is "1".
    model_config = ConfigDict(extra="forbid", strict=True)


class Problem(Schema):
    """Why a request was refused."""

    detail: str


class Indexing(Schema):
    """How far a run of the indexer has come."""

    running: bool
    done: int = 0
    total: int = 0
    per_second: float = 0.0
    skipped: int = 0
    error: str | None = None


class CollectionInfo(Schema):
    """A collection of pictures."""

    id: str
    name: str
    pictures: int
    version: int
    """Another number whenever pictures have come or gone."""
    skipped: int
    can_embed: bool
    """Whether pictures from outside can be asked for."""
    knows_words: bool
    """Whether searches can begin with words."""
    indexing: Indexing


class SkippedFile(Schema):
    path: str
    reason: str


class Picture(Schema):
    """A picture of a collection."""

    id: int
    name: str
    """Its path, from the folder of the collection on."""
    stack: Annotated[int, Field(ge=1, json_schema_extra=_without_default)] = 1
    """Pictures that show the same thing, this one among them; it is always sent."""


class PicturePage(Schema):
    """A window on a collection, in the order of identifiers."""

    total: int
    offset: int
    pictures: list[Picture]


class Upload(Schema):
    """A picture from outside that was described, and can be asked for."""

    id: str


class User(Schema):
    """How the user answers. Learnt from skips and corrections, if so wished."""

    p_label: Probability = 1.0
    p_mistake: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    learn: bool = False


class Settings(Schema):
    """How a search asks."""

    batch: Annotated[int, Field(ge=1, le=24)] = 4
    strategy: str = strategies.DEFAULT
    user: User = User()
    length_scale: Annotated[float, Field(gt=1e-6, lt=1e6)] | None = None
    """The median distance of two pictures if ``null``."""


class StrategyInfo(Schema):
    """A way in which a search can ask."""

    name: str
    description: str


class Keyed(Schema):
    """A request that may be repeated: one of the same key is carried out once."""

    key: Key | None = None


class Duplicate(Keyed):
    """A copy of a search."""


class SearchCreate(Keyed):
    """A new search, from pictures of the collection, or from outside, and from words."""

    collection: Key
    name: Name | None = None
    relevant: Annotated[list[Identifier], Field(max_length=1000)] = []
    irrelevant: Annotated[list[Identifier], Field(max_length=1000)] = []
    uploads: Annotated[list[Key], Field(max_length=100)] = []
    """Uploaded pictures, all of them relevant."""
    text: Words | None = None
    """What is looked for, in words: phrases with commas in between, and "not" before those that
    tell what is not. With pictures or without."""
    settings: Settings = Settings()


class SearchFile(Keyed):
    """What is said of a saved search that is opened, beside the file itself."""

    collection: Key
    name: Name | None = None
    digest: str
    """Of the file."""


class SearchInfo(Schema):
    """A search in a list."""

    id: str
    name: str
    collection: str
    created: datetime
    updated: datetime
    revision: int
    rounds: int
    relevant: int
    """Pictures that were called relevant, the query among them."""
    irrelevant: int
    cover: int | None
    """The first relevant picture of the collection, to show."""
    cover_upload: str | None
    """The first uploaded picture, to show if there is no other."""
    text: str | None
    """The words that it began with."""


class Progress(Schema):
    """Where a search stood after a round."""

    round: int
    relevant: float
    """Pictures that are expected to be relevant."""
    low: float | None = None
    """And from where to where that may be, in four of five searches."""
    high: float | None = None


class SearchState(SearchInfo):
    """A search, with the questions that it asks now."""

    settings: Settings
    learning: bool
    """Whether it has yet to learn what was said, which is kept: there is no question then, and no
    outlook. Whoever asks for the search, or for its results, gets them once it has."""
    counted: bool
    """Whether progress, outlook and summary know of all that was said. The next questions do not
    wait for that: whoever asks for the search gets it."""
    batch: list[Picture]
    can_undo: bool
    can_redo: bool
    progress: list[Progress]
    outlook: float | None
    """From 0 to 1: which part of the matches the answers to these questions are likely to change.
    """
    summary: str
    """Where the search stands, in a sentence."""
    audit: bool
    """Whether an audit of it was begun, and not ended."""
    text_problem: str | None
    """Why the words do not count, if they do not."""


class Change(Schema):
    """A change of a search as it was at a revision, told apart from others by a key."""

    revision: Annotated[int, Field(ge=0)]
    key: Key


class Answers(Change):
    """What the user says of pictures; of those answered before, instead of what was said."""

    answers: Annotated[
        dict[Annotated[Identifier, BeforeValidator(_number)], Answer],
        Field(
            min_length=1,
            # A thousand that were marked at once, and the answers to a batch that go with them.
            max_length=1024,
            json_schema_extra={"propertyNames": {"pattern": f"^({_NUMBER})$"}},
        ),
    ]


class SearchAnswers(Answers):
    """What the user says of pictures, and by that of all that show the same."""

    alone: bool = False
    """Whether it is said of these pictures alone."""


class SettingsChange(Change):
    settings: Settings


class Rename(Schema):
    name: Name


class Result(Picture):
    """A picture among the results."""

    rank: int
    probability: float
    mean: float
    label: Answer | None


class ResultPage(Schema):
    """A window on the results, the best first."""

    revision: int
    total: int
    offset: int
    results: list[Result]


class Estimate(Schema):
    """What is expected, and from where to where it may be in four of five searches."""

    value: float
    low: float
    high: float


class ThresholdInfo(Schema):
    """What is to be expected of all pictures of at least this probability."""

    probability: float
    count: int
    stacks: int
    """How many results they are, of which each has a whole stack."""
    precision: Estimate
    recall: Estimate


class Thresholds(Schema):
    revision: int
    balanced: float
    """Where precision and recall are expected to be the same, to begin with."""
    thresholds: list[ThresholdInfo]


class Advice(Schema):
    """Whether to go on, by what the answers to the questions that are asked now may bring."""

    asked: int
    relevant: float
    """Questions that are expected to be about a match."""
    left: float
    """Matches that are expected among all pictures that nothing was said of."""
    gain: float
    """Matches that are expected to come to the pictures above the threshold, or to leave them."""
    sentence: str


class AdviceAt(Schema):
    revision: int
    advice: Advice | None
    """``null`` before the first answer, and when nothing is left to ask."""


class AuditBegin(Change):
    """An audit of the pictures of at least this probability."""

    threshold: Probability
    level: Annotated[float, Field(ge=0.5, le=0.999)] = 0.9
    """How sure intervals are to be."""
    batch: Annotated[int, Field(ge=1, le=100)] = 12
    """Pictures to look at, at a time."""
    planned: Annotated[int, Field(ge=1, le=100_000)] = 60
    """Pictures to look at in all, settled beforehand: the level holds for that."""


class Interval(Schema):
    """What was found, and from where to where it may be, at the level of the audit."""

    value: float
    low: float
    high: float


class Labelled(Schema):
    """A picture, of the collection or uploaded, and what was said of it."""

    id: int | None
    """``null`` for a picture that was uploaded."""
    name: str
    upload: str | None
    label: Answer


class HistoryRound(Schema):
    """A query or a round of answers."""

    number: int
    kind: Literal["query", "answer"]
    created: datetime
    undone: bool
    labels: list[Labelled]


class History(Schema):
    revision: int
    rounds: list[HistoryRound]


class AuditState(Schema):
    """What an audit has found, and the pictures to look at next."""

    revision: int
    begun: datetime
    threshold: float
    level: float
    taken: int
    """Pictures that would be taken."""
    right: Interval
    """How many of them match."""
    precision: Interval
    missed: Interval
    """How many others match."""
    recall: Interval
    answers: int
    """Those that count: one does once all pictures that were drawn before it have one."""
    unsure: int
    """Of these, those that were no answer. They count as no match."""
    planned: int
    """Answers that are planned; no more than there are pictures to draw."""
    can_undo: bool
    """Whether undo takes back answers to this audit; before them may be other rounds."""
    can_redo: bool
    sentence: str
    """What was found, in plain words."""
    advice: str
    """What is still open, and what more answers would tell."""
    batch: list[Picture]
    said: list[Labelled]
    """All answers so far, to look at again."""


class Influence(Labelled):
    """A labelled picture that pulls another up, or pushes it down."""

    share: float
    """From -1 to 1: its part of all influences, with their sign."""


class Explanation(Schema):
    revision: int
    probability: float
    mean: float
    influences: list[Influence]
    words: float | None
    """The part of the words that the search began with, in the same measure as the shares."""


class ClassInfo(Schema):
    """A search as a class of a data set."""

    search: str
    name: str
    pictures: int


class Claimed(Schema):
    """A picture that several classes claim."""

    id: int
    name: str
    classes: list[str]


class Classes(Schema):
    """What searches would be as classes of a data set."""

    classes: list[ClassInfo]
    conflicts: list[Claimed]
    problem: str | None
    """Why no data set can be made of them, if that is so."""


class Conflict(Schema):
    """The search has moved on since the revision that a change was made on."""

    detail: str
    state: SearchState
