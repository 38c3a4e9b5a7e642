"""Find all the images that you mean, from one example and a few answers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ital.extras import needed_for

if TYPE_CHECKING:
    from ital import strategies
    from ital.answers import Answer
    from ital.audit import Audit
    from ital.classifier import RelevanceClassifier
    from ital.collection import Collection
    from ital.engine import ThreadEngine
    from ital.engine.cluster import RayEngine
    from ital.ranking import Results
    from ital.search import Search
    from ital.user import USERS, SimulatedUser, UserModel

__all__ = [
    "USERS",
    "Answer",
    "Audit",
    "Collection",
    "RayEngine",
    "RelevanceClassifier",
    "Results",
    "Search",
    "SimulatedUser",
    "ThreadEngine",
    "UserModel",
    "strategies",
]
__version__ = "0.2.0"

_HOMES = {
    "USERS": "ital.user",
    "Answer": "ital.answers",
    "Audit": "ital.audit",
    "Collection": "ital.collection",
    "RayEngine": "ital.engine.cluster",
    "RelevanceClassifier": "ital.classifier",
    "Results": "ital.ranking",
    "Search": "ital.search",
    "SimulatedUser": "ital.user",
    "ThreadEngine": "ital.engine",
    "UserModel": "ital.user",
}


def __getattr__(name: str) -> Any:
    # Libraries take up to seconds to import: only those wait who use what needs them.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _HOMES:
        return import_module(f"ital.{name}")
    with needed_for(f"ital.{name}"):
        globals()[name] = getattr(import_module(_HOMES[name]), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
