"""The loop that a person drives: ask with an example, answer a few questions, see the results."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ital import checks, durable, savefile, strategies
from ital.audit import Audit
from ital.baserate import BaseRate, prior_of
from ital.candidates import Unlabelled
from ital.census import Census
from ital.checks import Identifier, IntArray, Row
from ital.engine import Engine, one_blas_thread
from ital.gaussian import FloatArray
from ital.groups import Groups
from ital.history import Asked, Event, History, labels_of
from ital.kernel import Kernel
from ital.model import RelevanceModel
from ital.pool import Pool
from ital.ranking import Ranking, Results
from ital.scores import Scores
from ital.strategies import Strategy
from ital.turns import Turns, in_turn
from ital.user import UserModel

_NO_QUERY = "{} needs a query first: call query(relevant=[...])"


class Search:
    """A search for all images that a person means.

    Threads may share it: while one is in a method, the others wait for their turn. Only ``model``
    is for one thread at a time.

    Args:
        features: n vectors of length d, any real type, an array or a memory map, not copied; or
            the ``Pool`` of another search, to share what was computed of them. Where a pool gives
            its images identifiers, these stand for row numbers in all that follows.
        strategy: a name out of ``ital.strategies.names()``, a pair of a name and parameters, or an
            instance.
        user: how the user answers, for the strategies that model it and for what the model makes of
            answers; ``"learn"`` to learn it from what was skipped, corrected and contradicted.
        base_rate: which part of all images is relevant: learnt from the answers, a number between 0
            and 1, or ``None`` for the paper's prior, to which an image far from all labels is as
            likely relevant as not.
        length_scale: the kernel's length scale; the median distance of two images if ``None``.
        variance: the kernel's variance.
        noise: the variance of the noise on labels.
        seed: for strategies that draw at random. The batch depends on it and on the answers alone.
        engine: where features and all that is known of each image are; on the threads of this
            machine if ``None``. A pool has its own.
        groups: images that show the same thing, by lists of images or by an array with a number
            for each image. Of a group one image is asked about, once, and the answer counts for
            all of it (``answers``) until they get one of their own.
        prior: a number for each image, of which only the order counts: the higher, the likelier it
            is relevant before anything is said. Text similarity, what a classifier says, a tag.
            Answers decide how far it is trusted, and a search may begin with it, without a query.
        text: the words that ``prior`` stands for, if it does, to be saved with the search.

    """

    def __init__(
        self,
        features: npt.ArrayLike | Pool,
        strategy: str | tuple[str, Mapping[str, Any]] | Strategy = strategies.DEFAULT,
        user: UserModel | Literal["learn"] | None = None,
        base_rate: BaseRate = "learn",
        length_scale: float | None = None,
        variance: float = 1.0,
        noise: float = 1e-6,
        seed: int | None = None,
        engine: Engine | None = None,
        groups: Any = None,
        prior: npt.ArrayLike | None = None,
        text: Iterable[str] = (),
    ) -> None:
        _check_user(user)
        if seed is not None:
            checks.whole_number(seed, "seed", least=0)
        self._user, self._strategy = user or UserModel(), strategies.create(strategy)
        chosen, self.text = prior_of(base_rate), tuple(text)
        pool = features if isinstance(features, Pool) else Pool(features, engine=engine)
        self.groups = None if groups is None else Groups.of(groups, pool)
        scores = None if prior is None else Scores(prior, len(pool))
        kernel = Kernel.over(pool, length_scale, variance, noise)
        self.model = RelevanceModel(pool, kernel, chosen, scores)
        self._seed = secrets.randbits(64) if seed is None else int(seed)
        self._history = History()
        self._asked: dict[Identifier, Asked] = {}
        self._ranking: Ranking | None = None
        self._census: Census | None = None
        self._turns = Turns()

    def __len__(self) -> int:
        """The number of images in the pool."""
        return len(self.model.pool)

    def __repr__(self) -> str:
        answered = len(self._history.labels)
        return f"<ital.Search: {len(self)} images, {answered} labels, strategy {self.strategy!r}>"

    @property
    @in_turn
    def user(self) -> UserModel:
        """How the user answers, as given or as learnt so far."""
        if self._user == "learn":
            return self._history.user(self.model.contradictions)
        return self._user

    @property
    @in_turn
    def strategy(self) -> Strategy:
        """What chooses the questions, for this user."""
        return self._strategy.for_user(self.user)

    @in_turn
    def configure(
        self,
        strategy: str | tuple[str, Mapping[str, Any]] | Strategy | None = None,
        user: UserModel | Literal["learn"] | None = None,
    ) -> None:
        """Ask in another way from now on, or take the user for another; ``None`` leaves it."""
        _check_user(user)
        chosen = self._strategy if strategy is None else strategies.create(strategy)
        before = self._strategy, self._user
        self._strategy, self._user = chosen, user or self._user
        try:
            self._learn(self._history.events)
        except BaseException:
            self._strategy, self._user = before
            raise

    @property
    @in_turn
    def labels(self) -> dict[Identifier, bool | None]:
        """What is known of images of the pool: relevant, irrelevant or (``None``) unnameable."""
        return {
            image: None if label == 0 else label > 0
            for image, label in self._history.labels.items()
            if image in self.model.pool
        }

    @property
    @in_turn
    def answers(self) -> dict[Identifier, bool | None]:
        """The ``labels``, and those of images for which one of their group was answered.

        If several were, what was said first of the group counts for the others.
        """
        labels, pool = self.labels, self.model.pool
        if self.groups is None:
            return labels
        known = dict(labels)
        for image, label in labels.items():
            row = pool.row(image)
            assert row is not None
            for other in pool.identifiers(self.groups.members(row)).tolist():
                known.setdefault(Identifier(other), label)
        return known

    @property
    @in_turn
    def candidates(self) -> Unlabelled:
        """The rows that may be asked about."""
        pool = self.model.pool
        rows = [pool.row(image) for image in self._history.labels if image in pool]
        known = np.array(rows, dtype=np.int64)
        return Unlabelled.of(len(self), known if self.groups is None else self.groups.known(known))

    @in_turn
    def query(self, relevant: Any = (), irrelevant: Any = ()) -> None:
        """Say what is looked for: images by index, or vectors that are not in the pool, or both.

        May be called again to add to the query.
        """
        labels: dict[Identifier, int] = {}
        vectors: dict[Identifier, FloatArray] = {}
        for examples, label, name in ((relevant, 1, "relevant"), (irrelevant, -1, "irrelevant")):
            for example in checks.examples(examples, name):
                if isinstance(example, np.ndarray):
                    image = self._history.next_name(vectors)
                    vectors[image] = checks.vector(example, name, self.model.pool.dimension)
                else:
                    image = self.model.pool.identifier(example, name)
                if labels.setdefault(image, label) != label:
                    raise ValueError(f"image {image} must not be both relevant and irrelevant")
        if not labels:
            raise ValueError("query needs at least one relevant or irrelevant image, got none")
        self._learn([*self._history.events, Event("query", labels, vectors)])

    @in_turn
    def suggest(self, k: int) -> IntArray:
        """The batch of ``k`` images that the strategy asks about; all that are left if fewer.

        Strategies whose time grows fast with the batch have a limit, their ``largest_batch``.
        """
        k = checks.whole_number(k, "k", least=1)
        self._require_query("suggest")
        pool, candidates = self.model.pool, self.candidates
        if not len(candidates):
            raise RuntimeError(f"suggest has no image left to ask about: all {len(self)} are known")
        self.strategy.check_size(min(k, len(candidates)), "k")
        # Asked again, it says the same, to the last digit.
        self.model.forget_covariances()
        rng = np.random.default_rng([self._seed, len(self._history.events)])
        with one_blas_thread():
            batch = self.strategy.select(self.model, candidates, k, rng)
            chances = self.model.told(batch)
        ids, name = pool.identifiers(batch), self.strategy.name
        self._asked = {
            Identifier(image): Asked(name, chance)
            for image, chance in zip(ids.tolist(), chances.tolist(), strict=True)
        }
        return ids

    @in_turn
    def answer(self, answers: Mapping[Any, Any]) -> None:
        """Learn what the user says of images: an ``Answer``, or True, False, None for unsure.

        An image that was answered before takes the new answer. One that the user cannot judge is
        not asked about again.
        """
        labels = labels_of(answers, self.model.pool)
        if not self._history.events and not self._scored:
            raise RuntimeError(_NO_QUERY.format("answer"))
        if labels:
            events = [*self._history.events, Event("answer", labels, asked=self.how_asked(labels))]
            left = self._scored or self._known(History(events).labels)
            if self.model.is_informed and not left:
                raise ValueError(
                    "answers must leave one image relevant or irrelevant at the least, but call "
                    f"all that is known unnameable, got {answers!r}"
                )
            self._learn(events)

    @in_turn
    def undo(self) -> None:
        """Take back the last query or answer; again for the one before it."""
        if not self._history.events:
            raise RuntimeError("undo needs a query or an answer to take back, there is none")
        self._learn(self._history.events[:-1])

    @in_turn
    def results(self, count: int | None = None) -> Results:
        """The ``count`` best images of the pool, or all of them, by predictive mean."""
        if count is not None:
            checks.whole_number(count, "count", least=1)
        self._require_query("results")
        ranking = self.ranking()
        # Copies: whoever sorts or changes them does not change what others are shown.
        ids = self.model.pool.identifiers(ranking.rows[:count]).copy()
        return Results(ids, ranking.means[:count].copy(), ranking.probabilities[:count].copy())

    @in_turn
    def ranking(self) -> Ranking:
        """All images in the order of ``results``, by row number; sorted once after each change."""
        if self._ranking is None:
            with one_blas_thread():
                self._ranking = Ranking.of(self.model)
        return self._ranking

    @in_turn
    def census(self) -> Census:
        """How many images are relevant, in draws from all that is believed; once a change, too."""
        if self._census is None:
            with one_blas_thread():
                self._census = Census.of(self.model, self.ranking())
        return self._census

    @in_turn
    def audit(self, threshold: float, seed: int = 0, teach: bool = True) -> Audit:
        """Begin to check the images of at least this probability: what is right, what is missed.

        The ranking is frozen for it. Its answers are learnt here as well, unless ``teach`` is
        false, and those that are taken back here stay there.
        """
        self._require_query("audit")
        pool, ranking, learn = self.model.pool, self.ranking(), self.answer if teach else None
        return Audit(pool, ranking, self.labels, threshold, seed, learn)

    @in_turn
    def predict(self, vectors: npt.ArrayLike, scores: npt.ArrayLike | None = None) -> FloatArray:
        """Predictive means of relevance for vectors that need not be in the pool.

        ``scores`` are theirs, as those of the pool are in ``prior``; without them they have what
        the images of the pool have on average.
        """
        dimension = self.model.pool.dimension
        array = np.asarray(checks.matrix(vectors, "vectors", dimension, single=True), dtype=float)
        checks.finite_rows(checks.squares_are_finite(array), "vectors")
        known = None if scores is None else self._standardised(scores, len(array))
        self._require_query("predict")
        return self.model.predict_mean(array, known)

    @in_turn
    def score(self, batch: Iterable[int]) -> float:
        """The strategy's value of a batch; nats, where the strategy is about information."""
        if not isinstance(batch, Iterable):
            raise TypeError(f"batch must be indices of images, got {batch!r}")
        pool = self.model.pool
        images = [pool.identifier(image, "batch") for image in batch]
        if not images or len(set(images)) < len(images):
            raise ValueError(f"batch must hold one or more different images, got {images!r}")
        self.strategy.check_size(len(images), "batch")
        self._require_query("score")
        return self.strategy.score(self.model, np.array([pool.row(image) for image in images]))

    @in_turn
    def explain(self, image: int) -> dict[Identifier, float]:
        """What each label adds to the predictive mean of an image, the strongest first.

        By index; by a negative number for vectors from outside, the first of them -1.
        """
        pool = self.model.pool
        row = pool.row(pool.identifier(image, "image"))
        self._require_query("explain")
        assert row is not None
        parts = self.model.contributions(row)
        named = {
            Identifier(name if name < 0 else int(pool.identifiers(np.array([name]))[0])): part
            for name, part in parts.items()
        }
        return dict(sorted(named.items(), key=lambda item: -abs(item[1])))

    @property
    @in_turn
    def events(self) -> tuple[Event, ...]:
        """All queries and answers that were not undone, in order."""
        return tuple(self._history.events)

    @in_turn
    def replay(self, events: Iterable[Event]) -> None:
        """Come to where these queries and answers lead, from wherever the search is now.

        The way there is as short as can be: only what differs is learnt or forgotten.
        """
        self._learn(list(events))

    def save(self, path: str | PathLike[str]) -> None:
        """Write labels and settings, but no features, to one small file: all of it or nothing."""
        durable.write_whole(Path(path), self.to_json())

    @in_turn
    def to_json(self) -> str:
        """What ``save`` writes."""
        kernel = self.model.kernel
        settings: dict[str, Any] = {
            "strategy": self._strategy,
            "user": self._user,
            "base_rate": self.model.prior.base_rate,
            "length_scale": kernel.length_scale,
            "variance": kernel.variance,
            "noise": kernel.noise,
            "seed": self._seed,
            "text": self.text,
        }
        pool, scores = self.model.pool, self.model.prior_scores
        if scores is not None:
            settings["prior"] = scores.sample(pool)
        return savefile.to_json(pool, settings, self._history.events)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        features: npt.ArrayLike | Pool,
        adopt: bool = False,
        engine: Engine | None = None,
        groups: Any = None,
        prior: npt.ArrayLike | None = None,
    ) -> Search:
        """The search that was saved to ``path``, over the same features.

        A pool with identifiers may have gained and lost images since. What was said of images that
        are no longer there is kept, and counts again when they return. A search that is, or may
        be, of another collection is refused unless ``adopt`` is true. ``groups`` are not saved, nor
        is ``prior``, but enough of it to refuse another one.
        """
        pool = features if isinstance(features, Pool) else Pool(features, engine=engine)
        scores = None if prior is None else Scores(prior, len(pool))
        saved = savefile.parse(Path(path).read_bytes(), path, pool, adopt, scores)
        known = None if groups is None else Groups.of(groups, pool)
        with savefile.broken_if_it_fails(path):
            search = cls(pool, **saved.settings, groups=known, prior=prior)
            search._learn(saved.events)
        return search

    def _learn(self, events: list[Event]) -> None:
        """Bring the model to what some events amount to, and then the history.

        Whatever was before, it comes out the same: the labels are in the order of the events.
        """
        self._ranking = self._census = None
        history = History(events)
        wanted, examples = (
            self._known(history.labels),
            self._known(dict.fromkeys(history.examples, 1)),
        )
        vectors = {Row(name): vector for name, vector in history.vectors.items()}
        with one_blas_thread():
            self.model.become(wanted, vectors, examples)
            self._history = history
            self.model.trust(self.user.p_mistake)

    @in_turn
    def how_asked(self, images: Iterable[Identifier]) -> dict[Identifier, Asked]:
        """How it came to answers: by the last questions, or unasked."""
        own = [image for image in images if image not in self._asked]
        asked = {image: self._asked[image] for image in images if image in self._asked}
        if own and self.model.is_informed:
            rows = np.array([self.model.pool.row(image) for image in own])
            with one_blas_thread():
                chances = self.model.told(rows).tolist()
            asked |= {image: Asked(None, p) for image, p in zip(own, chances, strict=True)}
        return asked

    def _known(self, labels: Mapping[Identifier, int]) -> dict[Row, int]:
        """Labels by what the model calls images.

        An image without a label, or an unnameable one, is not in the model. Nor is one that has
        left the pool since it was labelled.
        """
        pool = self.model.pool
        rows = {image: Row(image) if image < 0 else pool.row(image) for image in labels}
        return {
            row: labels[image] for image, row in rows.items() if row is not None and labels[image]
        }

    @property
    def _scored(self) -> bool:
        """Whether there is something to go by even without a label."""
        return self.model.prior_scores is not None

    def _standardised(self, scores: npt.ArrayLike, count: int) -> FloatArray:
        known = self.model.prior_scores
        if known is None:
            raise ValueError("scores must be left out in a search without a prior")
        return known.at(scores, count)

    def _require_query(self, what: str) -> None:
        if not self.model.is_informed:
            raise RuntimeError(_NO_QUERY.format(what))


def _check_user(user: object) -> None:
    learnt = isinstance(user, str) and user == "learn"
    if user is not None and not learnt and not isinstance(user, UserModel):
        raise TypeError(f"user must be a UserModel or 'learn', got {user!r}")
