from __future__ import annotations

import numpy as np
import pytest
from making import draw

from ital.collection import Collection, describe, index, pca
from ital.collection.store import Store, StoreError


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pca") / "pictures"
    for number in range(20):
        draw(folder / f"{number:02}.png", number)
    index(folder)
    whole = Collection.open(folder).features()
    index(folder, dimension=5)
    return folder, whole


def test_components_are_those_of_the_covariance(indexed):
    """Against the singular vectors of the centred embeddings, up to their signs."""
    folder, whole = indexed
    reduced = Collection.open(folder).features()
    assert reduced.shape == (20, 5)
    assert reduced.flags.c_contiguous
    centred = whole.astype(float) - whole.mean(axis=0)
    components = np.linalg.svd(centred)[2][:5]
    wanted = centred @ components.T
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(reduced), np.abs(wanted), atol=1e-4)
    np.testing.assert_allclose(reduced @ reduced.T, wanted @ wanted.T, atol=1e-4)


def test_pictures_that_come_later_move_no_other(indexed):
    folder, _ = indexed
    before = Collection.open(folder)
    draw(folder / "later.png", 77)
    index(folder, dimension=5)
    after = Collection.open(folder)
    np.testing.assert_array_equal(after.features()[:20], before.features())
    np.testing.assert_allclose(after.embed(folder / "later.png"), after.features()[-1], atol=1e-5)
    (folder / "later.png").unlink()
    index(folder)  # remembers
    assert Collection.open(folder).features().shape == (20, 5)
    index(folder, dimension=0)
    assert Collection.open(folder).features().shape == (20, 1280)
    index(folder, dimension=5)


def test_every_model_has_its_own(indexed):
    folder, _ = indexed
    index(folder, model=describe("lite1"))
    assert Collection.open(folder).features().shape == (20, 1280)
    first = describe("lite0").fingerprint
    assert Collection.open(folder, model=first).features().shape == (20, 5)
    index(folder, model=describe("lite0"))


def test_too_many_dimensions(indexed):
    folder, _ = indexed
    with pytest.raises(StoreError, match="pca must be at most 20"):
        index(folder, dimension=21)
    assert Collection.open(folder).features().shape[1] == 5


def test_broken_components_are_named(indexed):
    folder, _ = indexed
    store = Store.find(folder)
    path = store.folder / f"pca-{store.about.current}-5.npz"
    content = path.read_bytes()
    try:
        for broken in (b"", b"nonsense", content[:100]):
            path.write_bytes(broken)
            with pytest.raises(StoreError, match="must hold principal components") as error:
                pca.load(store.folder, store.about.current, 5)
            assert "pickle" not in str(error.value)
    finally:
        path.write_bytes(content)


def test_a_sample_stands_for_many(indexed, monkeypatch):
    folder, whole = indexed
    store = Store.find(folder)
    monkeypatch.setattr(pca, "_SAMPLE", 6)
    np.testing.assert_array_equal(pca._sample(store.table(store.about.current)), whole[::4])
