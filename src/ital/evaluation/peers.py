"""What people have instead: common ways to search from examples, each with a ranking of its own.

A peer does not use the Gaussian process. It learns from the same queries and answers as a search,
chooses its own questions and ranks by its own scores, which are no probabilities. Each is made as
good as its kind allows: where directions count, they are taken from the middle of the pool, which
ranks better than from the corner to which features are scaled (butterflies: an area of 0.69
instead of 0.56), and rare relevant images weigh as much as all others together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import numpy.typing as npt

from ital.checks import Identifier, IntArray
from ital.gaussian import FloatArray
from ital.order import largest

Scorer = Callable[[FloatArray], FloatArray]
"""What gives vectors scores, the largest to the best."""

Truth = npt.NDArray[np.bool_]


class Peer(ABC):
    """A way to search that ``feedback_rounds`` can drive.

    Args:
        features: the vectors of the pool.
        seed: what it draws depends on this and on the number of rounds alone.

    """

    def __init__(self, features: npt.ArrayLike, seed: int) -> None:
        self._features: FloatArray = np.asarray(features, dtype=float)
        self._centre: FloatArray = self._features.mean(axis=0)
        self._seed, self._told = seed, 0
        self._labels: dict[Identifier, bool | None] = {}
        self._scorer: Scorer | None = None

    def __len__(self) -> int:
        return len(self._features)

    @property
    def labels(self) -> Mapping[Identifier, bool | None]:
        """What is known: relevant, irrelevant or (``None``) unnameable."""
        return self._labels

    def query(self, relevant: Iterable[int]) -> None:
        """Begin with examples."""
        self.answer(dict.fromkeys(relevant, 1))

    def answer(self, answers: Mapping[int, int]) -> None:
        """Learn that images are relevant (1), irrelevant (-1) or cannot be judged (0)."""
        for image, answer in answers.items():
            self._labels[Identifier(int(image))] = None if answer == 0 else answer > 0
        self._told += 1
        self._scorer = None

    def suggest(self, k: int) -> IntArray:
        """The next ``k`` images to ask about, or all that are left if fewer."""
        candidates = np.setdiff1d(np.arange(len(self)), list(self._labels))
        return self._choose(candidates, k)

    def predict(self, vectors: npt.ArrayLike) -> FloatArray:
        """Scores of vectors that need not be in the pool."""
        if self._scorer is None:
            named = {image: label for image, label in self._labels.items() if label is not None}
            truth = np.array(list(named.values()))
            # Without a single no there is nothing to tell apart, only something to be like.
            learn = self._centroid if truth.all() else self._learn
            self._scorer = learn(self._features[list(named)], truth)
        return self._scorer(np.asarray(vectors, dtype=float))

    @abstractmethod
    def _learn(self, vectors: FloatArray, relevant: Truth) -> Scorer:
        """Scores after relevant and irrelevant examples."""

    def _choose(self, candidates: IntArray, k: int) -> IntArray:
        """The best results that have no answer: people say what is wrong with what they see."""
        return candidates[largest(self.predict(self._features[candidates]), k)]

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self._seed, self._told])

    def _directions(self, vectors: FloatArray) -> FloatArray:
        """Vectors of length 1, from the middle of the pool."""
        moved = vectors - self._centre
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        return moved / np.where(lengths > 0, lengths, 1.0)

    def _centroid(self, vectors: FloatArray, relevant: Truth) -> Scorer:
        directions = self._directions(vectors)
        weights = directions[relevant].mean(axis=0)
        if not relevant.all():
            weights = weights - directions[~relevant].mean(axis=0)
        return lambda some: self._directions(some) @ weights


class Centroid(Peer):
    """The cosine to the mean of relevant less the mean of irrelevant images (Rocchio 1971)."""

    def _learn(self, vectors: FloatArray, relevant: Truth) -> Scorer:
        return self._centroid(vectors, relevant)


class SVM(Peer):
    """A linear support vector machine; the centroid until there is an irrelevant image."""

    def _learn(self, vectors: FloatArray, relevant: Truth) -> Scorer:
        from sklearn.svm import SVC  # takes long to import

        machine = SVC(kernel="linear", class_weight="balanced")
        machine.fit(self._directions(vectors), relevant)
        return lambda some: np.asarray(machine.decision_function(self._directions(some)))


class Forest(Peer):
    """A random forest, which asks about random images from both sides of its decision."""

    def _learn(self, vectors: FloatArray, relevant: Truth) -> Scorer:
        from sklearn.ensemble import RandomForestClassifier  # takes long to import

        forest = RandomForestClassifier(
            n_estimators=100,
            class_weight="balanced",
            n_jobs=1,
            random_state=int(self._rng().integers(2**31)),
        )
        forest.fit(vectors, relevant)
        return lambda some: np.asarray(forest.predict_proba(some))[:, 1]

    def _choose(self, candidates: IntArray, k: int) -> IntArray:
        order = self._rng().permutation(candidates)
        if False not in self._labels.values():
            return order[:k]
        accepted = self.predict(self._features[order]) > 0.5
        yes, no = order[accepted], order[~accepted]
        # The half that one side is short of comes from the other.
        many = max(min(len(yes), k - k // 2), k - len(no))
        return np.concatenate([yes[:many], no[: k - many]])


PEERS: dict[str, type[Peer]] = {"centroid": Centroid, "svm": SVM, "forest": Forest}
"""By the names that stand in tables."""
