"""Find all the images that you mean, from one example and a few answers."""

from typing import TYPE_CHECKING, Any

from ital import strategies
from ital.search import Results, Search
from ital.user import USERS, SimulatedUser, UserModel

if TYPE_CHECKING:
    from ital.classifier import RelevanceClassifier
    from ital.collection import Collection

__all__ = [
    "USERS",
    "Collection",
    "RelevanceClassifier",
    "Results",
    "Search",
    "SimulatedUser",
    "UserModel",
    "strategies",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # scikit-learn takes as long to import as all the rest: only those wait who use it.
    if name == "RelevanceClassifier":
        from ital.classifier import RelevanceClassifier

        return RelevanceClassifier
    # And what collections need is installed by ital[app] alone.
    if name == "Collection":
        from ital.collection import Collection

        return Collection
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
