from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from towers import WORDS

from ital.collection.shelf import Files, ModelError
from ital.collection.text import TextEncoder

INT, SMALL = TensorProto.INT64, TensorProto.INT32
TABLE = np.random.default_rng(0).normal(size=(16, 5)).astype(np.float32)


def reader(model, tokenizer, **options):
    return TextEncoder(Files(model, model, Path(tokenizer), **options))


def unit(vector):
    return vector / np.linalg.norm(vector)


def places(path, axis="length", pooled=True, kind=INT, inputs=("input_ids",)):
    """A model without a mask, to which each place counts, as to SigLIP: a vector for every token.

    And if they are to be ``pooled``, their sum.
    """
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "input_ids"], ["found"]),
        node("Transpose", ["found"], ["turned"], perm=[0, 2, 1]),
        node("CumSum", ["turned", "two"], ["running"]),
        node("Transpose", ["running"], ["last_hidden_state"], perm=[0, 2, 1]),
        node("ReduceSum", ["last_hidden_state", "one"], ["pooler_output"], keepdims=0),
    ]
    outputs = ["last_hidden_state", "pooler_output"][: 1 + pooled]
    graph = helper.make_graph(
        nodes,
        "places",
        [helper.make_tensor_value_info(name, kind, ("batch", axis)) for name in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [
            numpy_helper.from_array(TABLE, "table"),
            numpy_helper.from_array(np.array([1]), "one"),
            numpy_helper.from_array(np.array(2), "two"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def summed(ids):
    """What the model of ``places`` says of tokens."""
    return unit(np.cumsum(TABLE[ids].astype(float), axis=0).sum(axis=0))


@pytest.fixture
def tokenizer(towers, tmp_path):
    """The tokenizer of the words, to change."""
    return shutil.copy(towers / "tokenizer.json", tmp_path / "tokenizer.json")


def words(*names):
    return [2 + WORDS.index(name) for name in names]


def test_a_phrase_is_the_mean_of_its_words(towers):
    encoder = reader(towers / "text_model.onnx", towers / "tokenizer.json")
    phrases = ["red circle", "RED Circle", "a red thing", "blue"]
    found = encoder.embed(phrases)
    one = {word: np.append(np.eye(len(WORDS))[n], -0.5) for n, word in enumerate(WORDS)}
    other = np.append(np.zeros(len(WORDS)), -0.5)
    literal = [
        unit(one["red"] + one["circle"]),
        unit(one["red"] + one["circle"]),
        unit(one["red"] + 2 * other),
        unit(one["blue"]),
    ]
    np.testing.assert_allclose(found, literal, atol=1e-6)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found[2], encoder.embed(phrases[2:3])[0])
    np.testing.assert_array_equal(
        *encoder.embed(["red " * 16, "red " * 16 + "circle " * 100]),
        err_msg="the tokenizer cuts after 16 words",
    )


def test_padding_and_truncation(tokenizer, tmp_path):
    """As the tokenizer says; if it says nothing, as the model and what is beside it say."""
    model = places(tmp_path / "m.onnx")
    ids = words("red", "square")

    def said(phrase="red square", model=model):
        return reader(model, tokenizer).embed([phrase])[0]

    def close(found, tokens):
        np.testing.assert_allclose(found, summed(tokens), atol=1e-6)

    close(said(), ids)
    config = {"model_max_length": 6, "pad_token": {"content": "[PAD]"}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    close(said(), ids + [0] * 4)
    plain = Tokenizer.from_file(str(tokenizer))
    plain.no_truncation()
    plain.save(str(tokenizer))
    close(said("red " * 9), words("red") * 6)
    config = {"model_max_length": 10**30, "pad_token": "[PAD]"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    close(said("red " * 9), words("red") * 9)
    baked = Tokenizer.from_file(str(tokenizer))
    baked.enable_padding(length=5, pad_id=1, pad_token="[UNK]")
    baked.enable_truncation(5)
    baked.save(str(tokenizer))
    close(said(), [*ids, 1, 1, 1])
    close(said(model=places(tmp_path / "f.onnx", 8, kind=SMALL)), ids + [1] * 6)
    close(said("red " * 9, model=tmp_path / "f.onnx"), words("red") * 8)
    (tmp_path / "tokenizer_config.json").write_text("[")
    close(said(), [*ids, 1, 1, 1])


def test_a_vector_for_each_token(tokenizer, tmp_path):
    """Where there is nothing else, their mean."""
    model = places(tmp_path / "m.onnx", pooled=False)
    literal = np.cumsum(TABLE[words("red", "square")].astype(float), axis=0).mean(axis=0)
    found = reader(model, tokenizer).embed(["red square"])[0]
    np.testing.assert_allclose(found, unit(literal), atol=1e-6)


def test_models_that_are_no_text_models(towers, tokenizer, tmp_path):
    both = places(tmp_path / "both.onnx", inputs=("input_ids", "pixel_values"))
    with pytest.raises(ModelError, match=re.escape(f"{both} must take words alone, input_ids")):
        reader(both, tokenizer)
    with pytest.raises(ModelError, match=r"takes \{'pixel_values': 'tensor\(float\)'\}: give the"):
        reader(towers / "model.onnx", tokenizer)
    (tmp_path / "broken.json").write_text("{")
    for broken in (tmp_path / "broken.json", tmp_path / "none.json"):
        with pytest.raises(ModelError, match=re.escape(f"{broken} must be a tokenizer.json, but")):
            reader(towers / "text_model.onnx", broken)


def test_phrases_that_cannot_be_used(tokenizer, tmp_path):
    fixed = reader(places(tmp_path / "fixed.onnx", 8), tokenizer)
    with pytest.raises(ModelError, match=r"fixed.onnx cannot be run on 'red': .*8"):
        fixed.embed(["red"])  # nothing tells what to fill it up with
    nothing = reader(places(tmp_path / "nothing.onnx"), tokenizer)
    with pytest.raises(ModelError, match=r"nothing.onnx makes nothing of ''"):
        nothing.embed([""])
