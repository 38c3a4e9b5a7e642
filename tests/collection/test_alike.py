from __future__ import annotations

import numpy as np
import pytest

from ital.collection import alike as limits
from ital.collection.alike import (
    LEAST_COSINE,
    MOST_BITS,
    MOST_DIFFERENCE,
    SAME_BITS,
    SAME_COSINE,
    Stacked,
    least_cosine,
)


def difference(row, other):
    """Made up: every third pair has the same pixels."""
    return MOST_DIFFERENCE if (row + other) % 3 == 0 else MOST_DIFFERENCE + 1


def alike(bits, cosine, apart):
    """What two pictures must be like, as it is written."""
    if bits <= SAME_BITS and cosine >= SAME_COSINE and apart <= MOST_DIFFERENCE:
        return True
    return bits <= MOST_BITS and cosine >= LEAST_COSINE


def stack(hashes, vectors, known=None, least=LEAST_COSINE, differ=difference):
    known = np.ones(len(hashes), bool) if known is None else known
    return Stacked(hashes, known, vectors, least, differ)


def oracle(hashes, vectors):
    """Each picture compared with every centre before it, one at a time."""
    centres = []
    for row, vector in enumerate(vectors):
        best = (-1.0, row)
        for other in sorted(set(centres)):
            cosine = float(vectors[other] @ vector)
            bits = (int(hashes[row]) ^ int(hashes[other])).bit_count()
            if alike(bits, cosine, difference(row, other)):
                best = max(best, (cosine, other))
        centres.append(best[1])
    return centres


def pool(seed, count):
    """Pictures of which many are copies, more or less like each other."""
    rng = np.random.default_rng(seed)
    origins = rng.integers(0, 12, count)
    hashes = rng.integers(0, 2**64, 12, dtype=np.uint64)[origins]
    for row in range(count):
        for bit in rng.choice(64, rng.integers(0, 13), replace=False):
            hashes[row] ^= np.uint64(1) << np.uint64(bit)
    vectors = rng.normal(size=(12, 8))[origins] + rng.normal(size=(count, 8)) * 0.3
    return hashes, (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("at_once", [1, 7, 200])
@pytest.mark.parametrize("seed", range(5))
def test_pictures_join_the_centre_they_are_most_alike_to(seed, at_once):
    hashes, vectors = pool(seed, 150)
    stacked = stack(hashes, vectors)
    for start in range(0, 150, at_once):
        stacked.join(np.arange(start, min(150, start + at_once)))
    assert stacked.centres.tolist() == oracle(hashes, vectors)
    assert 12 <= len(set(stacked.centres.tolist())) < 150


def test_what_is_settled_stays_whatever_comes():
    hashes, vectors = pool(0, 150)
    stacked = stack(hashes, vectors)
    stacked.settle(3, 3)
    stacked.settle(5, 3)
    stacked.join(np.array([row for row in range(150) if row not in (3, 5)]))
    assert stacked.centres[[3, 5]].tolist() == [3, 3]


def test_a_chain_is_no_stack():
    """Each is like the next; the first and the last share nothing."""
    steps = np.linspace(0, np.pi, 33)
    vectors = np.column_stack([np.cos(steps), np.sin(steps)]).astype(np.float32)
    hashes = np.array([(1 << 2 * step) - 1 for step in range(33)], dtype=np.uint64)
    stacked = stack(hashes, vectors)
    stacked.join(np.arange(33))
    for row, centre in enumerate(stacked.centres.tolist()):
        cosine = float(vectors[row] @ vectors[centre])
        apart = difference(row, centre)
        assert alike(2 * abs(row - centre), cosine, apart) or row == centre
    assert len(set(stacked.centres.tolist())) > 4


def test_without_a_hash_a_picture_is_alike_to_none():
    vectors = np.ones((4, 1), np.float32)
    known = np.array([True, False, True, False])
    stacked = stack(np.zeros(4, np.uint64), vectors, known)
    stacked.join(np.arange(4))
    assert stacked.centres.tolist() == [0, 1, 0, 3]


@pytest.mark.parametrize("count", [1, 40, 150])
def test_what_is_near_enough_is_what_different_pictures_do_not_reach(count, monkeypatch):
    hashes, vectors = pool(3, count)
    known = np.arange(count) % 5 != 1
    monkeypatch.setattr(limits, "_TILE", 16)
    nearest = [
        max(
            (
                float(vectors[one] @ vectors[other])
                for other in np.flatnonzero(known)
                if (int(hashes[one]) ^ int(hashes[other])).bit_count() > limits.OTHER_BITS
            ),
            default=-1.0,
        )
        for one in np.flatnonzero(known)
    ]
    expected = max(LEAST_COSINE, np.quantile(nearest, limits.OTHER_PART))
    assert least_cosine(hashes, known, vectors) == pytest.approx(expected, abs=1e-6)


def test_where_different_pictures_are_near_only_nearer_ones_are_alike():
    """Drawings after one pattern: all are near, copies are nearer."""
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 2**64, 60, dtype=np.uint64)
    vectors = 1 + 0.1 * rng.normal(size=(60, 200))
    hashes[1] = hashes[0] ^ np.uint64(0b11111)
    hashes[3] = hashes[2] ^ np.uint64(0b11111)
    vectors[3] = vectors[2] + 0.01 * rng.normal(size=200)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    known = np.ones(60, bool)
    least = least_cosine(hashes, known, vectors)
    for limit, stacks in ((LEAST_COSINE, 58), (least, 59)):
        stacked = stack(hashes, vectors, least=limit, differ=lambda row, other: np.inf)
        stacked.join(np.arange(60))
        assert len(set(stacked.centres.tolist())) == stacks


def test_without_a_hash_nothing_tells_what_is_near():
    assert least_cosine(np.zeros(2, np.uint64), np.zeros(2, bool), np.eye(2, dtype=np.float32)) == (
        LEAST_COSINE
    )
