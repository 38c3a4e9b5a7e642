from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest
from networks import means
from test_text import places
from towers import KINDS, WORDS

from ital import Collection
from ital.collection import describe, index
from ital.collection.models import Ensemble
from ital.collection.shelf import ModelError, shelf
from ital.collection.text import TextEncoder
from ital.collection.words import MOST, Words, likeness


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("a red bus", ("a red bus",), ()),
        (
            " a street\tin the rain , not  at night,, NOT a car",
            ("a street in the rain",),
            ("at night", "a car"),
        ),
        (["a street, at night", "not in the rain"], ("a street, at night",), ("in the rain",)),
        ("nothing, a knot", ("nothing", "a knot"), ()),
        ("not", ("not",), ()),
        ("not at night", (), ("at night",)),
    ],
)
def test_phrases(text, wanted, unwanted):
    words = Words.of(text)
    assert (words.wanted, words.unwanted) == (wanted, unwanted)
    assert Words.of(list(words.phrases)) == words


@pytest.mark.parametrize("text", ["", " , ", [], ["a"] * (MOST + 1)])
def test_too_few_and_too_many(text):
    with pytest.raises(ValueError, match=f"text must be 1 to {MOST} phrases, got "):
        Words.of(text)


def test_what_is_no_text():
    for text in (["red", 3], 3, {"red"}):
        with pytest.raises(TypeError, match="text must be a phrase, or several, got"):
            Words.of(text)


def test_scores_are_differences_of_mean_likenesses():
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=5) for name in ("a", "b", "c", "d", "e")}
    features = rng.normal(size=(10_000, 5)).astype(np.float16)
    for text in ("a", "a, b, not c", "not d, not e, a", "not b"):
        words = Words.of(text)
        direction = words.direction(lambda phrases: np.stack([table[one] for one in phrases]))
        literal = np.zeros(len(features))
        for part, sign in ((words.wanted, 1), (words.unwanted, -1)):
            for one in part:
                literal += sign * (features.astype(float) @ table[one]) / len(part)
        np.testing.assert_allclose(likeness(features, direction), literal, atol=1e-12)


def kinds(collection, ids) -> list[str]:
    return [" ".join(collection.path(one).stem.split()[:2]) for one in ids]


@pytest.fixture(scope="session")
def drawings(shapes) -> Collection:
    return Collection.open(shapes)


def test_words_find_colours_and_shapes(drawings):
    """Of twenty drawings of a kind nearly all are the first twenty, before anything is said."""
    assert drawings.knows_words
    for kind in KINDS:
        found = kinds(drawings, drawings.search(text=f"a {kind}").results(20).ids)
        assert found.count(kind) >= 19, (kind, found)
    for phrase in ("circle", "blue"):
        found = kinds(drawings, drawings.search(text=[phrase]).results(50).ids)
        assert all(phrase in kind for kind in found)


def test_what_is_not_wanted(drawings):
    found = kinds(drawings, drawings.search(text="circle, not red").results(50).ids)
    assert {kind.split()[1] for kind in found} == {"circle"}
    assert "red circle" not in found
    lowest = kinds(drawings, drawings.search(text="not triangle").results().ids[-60:])
    assert sum("triangle" in kind for kind in lowest) >= 57


def test_words_and_pictures_together(drawings):
    """Words tell what of a picture is meant, and the picture what the words leave open."""
    example = drawings.identifiers(["red triangle 03.png"])["red triangle 03.png"]

    def found(text=None, relevant=()) -> tuple[int, int]:
        search = drawings.search(text=text, seed=0)
        if relevant:
            search.query(relevant=relevant)
        best = kinds(drawings, search.results(60).ids)
        return best[:20].count("red triangle"), sum("red" in kind for kind in best)

    words, picture, both = found("red"), found(relevant=[example]), found("red", [example])
    assert words[0] < 10
    assert both[0] >= 18
    assert picture[1] < 30
    assert both[1] >= 40


def test_answers_overrule_words(drawings):
    """Who types one thing and says yes to another gets the other."""
    search = drawings.search(text="red circle", seed=0)
    blue = [i for i in drawings.ids.tolist() if kinds(drawings, [i]) == ["blue square"]]
    search.query(relevant=blue[:1])
    for _ in range(4):
        search.answer({int(one): int(one) in blue for one in search.suggest(4)})
    assert kinds(drawings, search.results(20).ids).count("blue square") >= 18


def test_words_are_saved_and_outlast_undo(drawings, shapes, tmp_path):
    search = drawings.search(text="red circle, not square", seed=0)
    assert search.text == ("red circle", "not square")
    before = search.results()
    search.answer({int(one): True for one in search.suggest(4)})
    search.save(tmp_path / "search.json")
    told = search.results()
    search.undo()
    np.testing.assert_array_equal(search.results().ids, before.ids)
    loaded = Collection.open(shapes).load_search(tmp_path / "search.json")
    assert loaded.text == search.text
    np.testing.assert_array_equal(loaded.results().ids, told.ids)
    np.testing.assert_allclose(loaded.results().means, told.means)
    content = json.loads((tmp_path / "search.json").read_text())
    content["settings"]["text"] = [["red"]]
    (tmp_path / "search.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"prior must be the scores that .* was saved with"):
        drawings.load_search(tmp_path / "search.json")


def test_scores_are_those_of_all_dimensions(shapes, towers, tmp_path):
    """In fewer of them, and where a second model describes the pictures, words mean the same."""
    model, text = str(towers / "model.onnx"), str(towers / "text_model.onnx")
    whole = Collection.open(shapes).scores("yellow square, not circle")
    index(shapes, tmp_path / "pca", describe(model, text_model=text), dimension=6)
    fewer = Collection.open(tmp_path / "pca").scores("yellow square, not circle")
    assert np.corrcoef(whole, fewer)[0, 1] > 0.97
    both = Ensemble((describe(str(means(tmp_path / "m.onnx"))), describe(model, text_model=text)))
    index(shapes, tmp_path / "both", both)
    found = Collection.open(tmp_path / "both")
    assert found.features().shape[1] == 3 + len(WORDS) + 1
    assert np.corrcoef(whole, found.scores("yellow square, not circle"))[0, 1] > 0.97
    # In a literal form: the words' vectors, with nothing for what the other model sees.
    encoder = TextEncoder(describe(model, text_model=text).files)
    yellow, circle = encoder.embed(["yellow square", "circle"]).astype(float)
    literal = found.features()[:, 3:].astype(float) @ (yellow - circle)
    np.testing.assert_allclose(found.scores("yellow square, not circle"), literal, atol=1e-12)


def test_collections_without_words(shapes, towers, tmp_path):
    elsewhere = Collection.from_arrays(np.eye(3), ["a.png", "b.png", "c.png"])
    assert not elsewhere.knows_words
    with pytest.raises(ModelError, match=r"knows words, but the embeddings came from elsewhere"):
        elsewhere.search(text="red")
    model = towers / "model.onnx"
    index(shapes, tmp_path / "wordless", describe(str(model)))
    wordless = Collection.open(tmp_path / "wordless")
    assert not wordless.knows_words
    known = ", ".join(name for name, entry in shelf().items() if entry.words)
    told = f"but {model} does not: index the pictures by one that does ({known}; see ital models)"
    with pytest.raises(ModelError, match=re.escape(told)):
        wordless.search(text="red")
    assert known.count(",") >= 1
    (tmp_path / "other").mkdir()
    shutil.copy(towers / "tokenizer.json", tmp_path / "other")
    other = places(tmp_path / "other" / "text.onnx")
    index(shapes, tmp_path / "wordless", describe(str(model), text_model=str(other)))
    told = "the vectors of words must have the 8 dimensions of those of pictures, but have 5"
    with pytest.raises(ModelError, match=told):
        Collection.open(tmp_path / "wordless").search(text="red")


def test_text_is_a_prior(drawings):
    with pytest.raises(ValueError, match="text and prior are two ways to begin"):
        drawings.search(text="red", prior=np.zeros(len(drawings)))
    with pytest.raises(ValueError, match="text must be 1 to 16 phrases, got 0"):
        drawings.search(text="")
