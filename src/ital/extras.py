"""What the core does without, and what to install for those who want more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_CORE = ("ital", "numkong", "numpy", "scipy", "sklearn", "threadpoolctl")
_EXTRAS = {
    "h5py": "bench",
    "httpx2": "models",
    "huggingface_hub": "models",
    "jinja2": "bench",
    "matplotlib": "bench",
    "psycopg": "postgresql",
    "ray": "ray",
    "skactiveml": "skactiveml",
    "tokenizers": "models",
}
"""The extra of a module, where that is not ``app``."""


class MissingError(ImportError):
    """A library that is not installed; the message says what to install."""


@contextmanager
def needed_for(what: str) -> Iterator[None]:
    """Say in a sentence what to install if a library is missing that ``what`` needs."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module in _CORE or not module:
            raise  # nothing that anyone could have left out on purpose
        install = f"pip install '.[{_EXTRAS.get(module, 'app')}]' in a clone of ital"
        message = f"{what} needs {module}, which is not installed: {install}"
        raise MissingError(message, name=module) from error
