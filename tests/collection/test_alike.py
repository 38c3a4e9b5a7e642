from __future__ import annotations

import numpy as np
import pytest

from ital.collection.alike import LEAST_COSINE, MOST_BITS, SAME_BITS, SAME_COSINE, Stacked


def alike(bits, cosine):
    """What two pictures must be like, as it is written."""
    return cosine >= (SAME_COSINE if bits <= SAME_BITS else LEAST_COSINE) and bits <= MOST_BITS


def oracle(hashes, vectors):
    """Each picture compared with every centre before it, one at a time."""
    centres = []
    for row, vector in enumerate(vectors):
        best = (-1.0, row)
        for other in sorted(set(centres)):
            cosine = float(vectors[other] @ vector)
            if alike((int(hashes[row]) ^ int(hashes[other])).bit_count(), cosine):
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
    stacked = Stacked(hashes, np.ones(150, bool), vectors)
    for start in range(0, 150, at_once):
        stacked.join(np.arange(start, min(150, start + at_once)))
    assert stacked.centres.tolist() == oracle(hashes, vectors)
    assert 12 <= len(set(stacked.centres.tolist())) < 150


def test_what_is_settled_stays_whatever_comes():
    hashes, vectors = pool(0, 150)
    stacked = Stacked(hashes, np.ones(150, bool), vectors)
    stacked.settle(3, 3)
    stacked.settle(5, 3)
    stacked.join(np.array([row for row in range(150) if row not in (3, 5)]))
    assert stacked.centres[[3, 5]].tolist() == [3, 3]


def test_a_chain_is_no_stack():
    """Each is like the next; the first and the last share nothing."""
    steps = np.linspace(0, np.pi, 33)
    vectors = np.column_stack([np.cos(steps), np.sin(steps)]).astype(np.float32)
    hashes = np.array([(1 << 2 * step) - 1 for step in range(33)], dtype=np.uint64)
    stacked = Stacked(hashes, np.ones(33, bool), vectors)
    stacked.join(np.arange(33))
    for row, centre in enumerate(stacked.centres.tolist()):
        assert alike(2 * abs(row - centre), float(vectors[row] @ vectors[centre])) or row == centre
    assert len(set(stacked.centres.tolist())) > 4


def test_without_a_hash_a_picture_is_alike_to_none():
    vectors = np.ones((4, 1), np.float32)
    stacked = Stacked(np.zeros(4, np.uint64), np.array([True, False, True, False]), vectors)
    stacked.join(np.arange(4))
    assert stacked.centres.tolist() == [0, 1, 0, 3]
