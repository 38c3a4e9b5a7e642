from __future__ import annotations

import numpy as np
import pytest
from making import draw
from networks import means, tokens

from ital.collection import Collection, centring, describe, index
from ital.collection.centring import Centring
from ital.collection.models import Ensemble
from ital.collection.store import Store, StoreError


@pytest.fixture
def pair(tmp_path) -> Ensemble:
    """Two quick models, of three dimensions and of sixteen."""
    first = means(tmp_path / "first.onnx")
    second = means(tmp_path / "second.onnx", ("batch", 3, 16, 16), axes=[2])
    return describe(f"{first}+{second}")


@pytest.fixture
def folder(tmp_path):
    for number in range(12):
        draw(tmp_path / "pictures" / f"{number:02}.png", number)
    return tmp_path / "pictures"


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def described(folder, model):
    """What a model alone says, in a collection of its own."""
    store = folder.parent / f"alone-{model.fingerprint}"
    index(folder, store, model)
    return Collection.open(store).features().astype(float)


def test_each_is_centred_and_brought_to_length_1(folder, pair):
    index(folder, model=pair)
    alone = [described(folder, part) for part in pair.parts]
    wanted = np.hstack([unit(part - part.mean(axis=0)) for part in alone]) / np.sqrt(2)
    collection = Collection.open(folder)
    np.testing.assert_allclose(collection.features(), wanted, atol=1e-5)
    path = folder / collection.paths[3]
    np.testing.assert_allclose(collection.embed(path), wanted[3], atol=1e-5)
    cosines = collection.features() @ collection.features().T
    parts = [unit(part - part.mean(axis=0)) for part in alone]
    np.testing.assert_allclose(cosines, sum(one @ one.T for one in parts) / 2, atol=1e-5)


def test_it_is_indexed_again_and_searched_as_any_other(folder, pair):
    index(folder, model=pair)
    before = Collection.open(folder)
    draw(folder / "later.png", 77)
    done = index(folder)  # remembers the models
    assert (done.embedded, done.unchanged) == (1, 12)
    after = Collection.open(folder)
    np.testing.assert_array_equal(after.features()[:12], before.features())
    assert Store.find(folder).model(pair.fingerprint) == pair
    search = after.search(seed=0)
    search.query(relevant=[int(after.ids[0])])
    search.answer(dict.fromkeys(search.suggest(2), True))
    assert len(search.results(5).ids) == 5
    index(folder, dimension=4)
    reduced = Collection.open(folder).features()
    assert reduced.shape == (13, 4)
    centred = after.features().astype(float)
    learnt = np.linalg.svd(centred - centred.mean(axis=0))[2][:4]
    wanted = unit((centred - centred.mean(axis=0)) @ learnt.T)
    np.testing.assert_allclose(reduced @ reduced.T, wanted @ wanted.T, atol=1e-4)


def test_means_of_few_are_learnt_anew(folder, pair, monkeypatch):
    index(folder, model=pair)
    store = Store.find(folder)
    first = centring.load(store, pair.fingerprint)
    assert first.learnt == 12
    for number in range(20, 32):
        draw(folder / f"{number}.png", number)
    index(folder)
    second = centring.load(store, pair.fingerprint)
    assert second.learnt == 24
    assert second.checksum != first.checksum
    monkeypatch.setattr(centring, "_ENOUGH", 24)
    for number in range(40, 70):
        draw(folder / f"{number}.png", number)
    index(folder)
    assert centring.load(store, pair.fingerprint).learnt == 24


def test_a_vector_that_is_the_mean_stays():
    mean = np.array([0.6, 0.8, 0, 1], np.float32) / np.sqrt(2).astype(np.float32)
    once = Centring(mean, np.array([2]), 1)
    np.testing.assert_allclose(once(mean[None]), mean[None], atol=1e-6)


def test_a_broken_file_is_named(folder, pair):
    index(folder, model=pair)
    (path,) = (folder / ".ital").glob("centre-*.npz")
    path.write_bytes(b"no means")
    with pytest.raises(StoreError, match=r"centre-.*\.npz must hold the means of embeddings"):
        Collection.open(folder).features()
    path.unlink()
    index(folder)
    assert path.is_file()


def test_a_model_that_is_missing_is_named(folder, tmp_path, pair):
    index(folder, model=pair)
    (tmp_path / "second.onnx").unlink()
    collection = Collection.open(folder)
    assert collection.features().shape[0] == 12
    with pytest.raises(ValueError, match=r"second\.onnx"):
        collection.embed(folder / "00.png")


def test_rows_of_tokens_and_others_go_together(folder, tmp_path):
    pair = describe(f"{tokens(tmp_path / 't.onnx')}+{means(tmp_path / 'm.onnx')}")
    index(folder, model=pair)
    assert Collection.open(folder).features().shape == (12, 6)
