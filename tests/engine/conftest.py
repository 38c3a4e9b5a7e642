from __future__ import annotations

from collections.abc import Iterator

import pytest

from ital.engine import cluster as engines
from ital.evaluation.datasets import load
from rays import Head, head


@pytest.fixture(scope="session")
def cluster() -> Iterator[Head]:
    """A real Ray with room for all actors of these tests, whatever this machine has."""
    with head(20) as one:
        yield one
        for driver in engines._drivers.values():
            driver.close()


@pytest.fixture(scope="session")
def digits():
    return load("digits").tasks[0]


@pytest.fixture(scope="session")
def usps(data_folder):
    return load("usps").tasks[4]
