from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import skimage.data
import sklearn.datasets
from networks import BYTE, HALF, means, tokens
from PIL import Image

from ital.collection import Collection
from ital.collection.encoder import Encoder, encoder
from ital.collection.models import NORMALISATIONS, describe
from ital.collection.shelf import ModelError


def noise(seed=0, size=(32, 32)) -> Image.Image:
    rng = np.random.default_rng(seed)
    return Image.fromarray(rng.integers(0, 256, (*size, 3), dtype=np.uint8))


def embedded(model, images):
    encoder = Encoder(model)
    return encoder.embed(np.stack([encoder.prepare(image) for image in images]))


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        (("b", 3, 32, 32), None),
        (("b", 32, 32, 3), None),
        ((1, 3, 32, 32), None),
        ((4, 3, 32, 32), None),
        (("b", 3, "h", "w"), HALF),
    ],
)
def test_colours_reach_the_model_as_it_wants_them(tmp_path, shape, kind, normalisation):
    """Whatever the layout, batch and type: the means of (x - mean) / deviation, at length 1."""
    options = {} if kind is None else {"kind": kind}
    path = means(tmp_path / "m.onnx", shape, **options)
    images = [noise(seed) for seed in range(5)]
    found = embedded(describe(str(path), 32, normalisation=normalisation), images)
    mean, deviation = NORMALISATIONS[normalisation]
    pixels = np.stack([np.asarray(image, float) for image in images])
    wanted = unit(((pixels - mean) / deviation).mean(axis=(1, 2)))
    np.testing.assert_allclose(found, wanted, atol=2e-3 if kind == HALF else 1e-5)
    assert found.dtype == np.float32


def test_bytes_are_given_as_they_are(tmp_path):
    path = means(tmp_path / "m.onnx", (1, 32, 32, 3), BYTE)
    images = [noise(seed) for seed in range(3)]
    wanted = unit(np.stack([np.asarray(image, float).mean(axis=(0, 1)) for image in images]))
    np.testing.assert_allclose(embedded(describe(str(path)), images), wanted, atol=1e-6)


def test_maps_are_averaged_and_the_first_token_counts(tmp_path):
    images = [noise(seed) for seed in range(2)]
    wanted = embedded(describe(str(means(tmp_path / "m.onnx"))), images)
    for shape in (("b", 3, 32, 32), ("b", 32, 32, 3)):
        path = means(tmp_path / "map.onnx", shape, keep=True)
        np.testing.assert_allclose(embedded(describe(str(path)), images), wanted, atol=1e-5)
    path = tokens(tmp_path / "tokens.onnx")
    np.testing.assert_allclose(embedded(describe(str(path), 32), images), wanted, atol=1e-5)


@pytest.mark.parametrize("crop", [1.0, 0.5])
def test_the_middle_is_what_the_model_sees(tmp_path, crop):
    """Black around the part that is seen must not be seen."""
    encoder = Encoder(describe(str(means(tmp_path / "m.onnx")), normalisation="unit", crop=crop))
    image = Image.new("RGB", (120, 60))
    half = round(30 * crop) + 4  # a margin for what the filter touches
    image.paste("white", (60 - half, 30 - half, 60 + half, 30 + half))
    np.testing.assert_allclose(encoder.prepare(image), 1, atol=1e-6)
    outside = Image.new("RGB", (120, 60), "white")
    outside.paste("black", (60 - half, 30 - half, 60 + half, 30 + half))
    np.testing.assert_allclose(encoder.prepare(outside), 0, atol=1e-6)


def test_the_whole_picture_is_seen_where_it_is_made_a_square(tmp_path):
    model = describe(str(means(tmp_path / "m.onnx")), normalisation="unit")
    encoder = Encoder(dataclasses.replace(model, stretch=True))
    image = noise(size=(30, 90))
    square = image.resize((32, 32), Image.Resampling.BILINEAR)
    wanted = np.asarray(square, np.float32).transpose(2, 0, 1) / 255
    np.testing.assert_allclose(encoder.prepare(image), wanted, atol=1e-6)


def test_several_say_what_each_says(tmp_path):
    """One after the other, each at the same length, whatever they take and however it is laid."""
    first = means(tmp_path / "first.onnx")
    second = means(tmp_path / "second.onnx", (1, 16, 16, 3), BYTE)
    model = describe(f"{first}+{second}")
    together = encoder(model)
    images = [noise(seed) for seed in range(3)]
    prepared = together.buffer(len(images))
    for place, image in enumerate(images):
        together.prepare(image, prepared[place])
    alone = [embedded(part, images) for part in model.parts]
    wanted = np.hstack(alone) / np.sqrt(2)
    np.testing.assert_allclose(together.embed(prepared), wanted, atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(together.embed(prepared), axis=1), 1, atol=1e-6)
    assert together.least == max(one.least for one in together.encoders)


def test_no_vector_is_nan(tmp_path):
    encoder = Encoder(describe(str(means(tmp_path / "m.onnx")), normalisation="unit"))
    black = encoder.prepare(Image.new("RGB", (32, 32)))
    assert np.isnan(encoder.embed(black[None])).all()


@pytest.mark.parametrize("axes", [[0], [1, 2, 3], [0, 1, 2, 3]])
def test_outputs_that_are_no_vectors(tmp_path, axes):
    path = means(tmp_path / "m.onnx", axes=axes)
    with pytest.raises(ModelError, match="must be a vector for each picture"):
        embedded(describe(str(path)), [noise(), noise()])


def test_models_that_cannot_be_run(tmp_path):
    """The picture does not fit what the graph does with it."""
    path = means(tmp_path / "m.onnx", ("b", 3, "h", "w"), keep=True, factor=5)
    with pytest.raises(ModelError, match="cannot be run"):
        embedded(describe(str(path), 32), [noise()])


ESPRESSO, PALACE, CATS = 967, 698, range(281, 286)


@pytest.mark.parametrize("name", ["lite0", "lite1"])
def test_known_photographs(name):
    """Classes of ImageNet: coffee is espresso, china a palace, chelsea a cat."""
    encoder = Encoder(describe(name))
    photographs = [
        Image.fromarray(skimage.data.coffee()),
        Image.fromarray(sklearn.datasets.load_sample_image("china.jpg")),
        Image.fromarray(skimage.data.chelsea()),
    ]
    logits = encoder.run(np.stack([encoder.prepare(one) for one in photographs]), "logits")
    coffee, china, chelsea = logits.argmax(axis=1)
    assert coffee == ESPRESSO
    assert china == PALACE
    assert chelsea in CATS


@pytest.fixture(scope="module")
def photographs(corel):
    images = []
    for path in sorted(corel.glob("*.jpg")):
        with Image.open(path) as image:
            images.append(image.convert("RGB"))
    return images


def all_embedded(name, images):
    encoder = Encoder(describe(name))
    parts = [images[start : start + 20] for start in range(0, len(images), 20)]
    return np.concatenate(
        [encoder.embed(np.stack([encoder.prepare(one) for one in part])) for part in parts]
    )


def precision(vectors):
    """Mean precision of the ten nearest neighbours of each photograph of Corel-1k."""
    kinds = np.arange(len(vectors)) // 100
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -np.inf)
    neighbours = np.argsort(-similarity, axis=1)[:, :10]
    return (kinds[neighbours] == kinds[:, None]).mean()


def test_neighbours_are_of_one_kind(corel_store):
    collection = Collection.open(corel_store)
    assert precision(collection.features()[np.argsort(collection.paths)]) >= 0.96


def test_neighbours_are_of_one_kind_for_the_larger_network(photographs):
    assert precision(all_embedded("lite1", photographs)) >= 0.97


def middle(image):
    """224 pixels, which are left as they are when they are prepared."""
    half = 0.875 * min(image.size) / 2
    x, y = image.width / 2, image.height / 2
    box = (x - half, y - half, x + half, y + half)
    return image.resize((224, 224), Image.Resampling.BICUBIC, box)


def test_embeddings_are_those_of_the_reference(photographs, data_folder):
    """The benchmark's own, which others computed: of the middle 87.5 %, by a bicubic filter."""
    with np.load(data_folder / "corel1k.npz") as data:
        reference = unit(np.concatenate([data["X_train"], data["X_test"]]))
    some = all_embedded("lite0", [middle(image) for image in photographs[::10]])
    assert (some @ reference.T).max(axis=1).min() > 0.9999
