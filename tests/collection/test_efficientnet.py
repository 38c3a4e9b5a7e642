"""The ONNX graph against the network written out in NumPy, batch norms and all."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from ital.collection import efficientnet, models


def convolution(x, weight, stride):
    """TensorFlow's "same" convolution of (channels, rows, columns), element by element."""
    outputs, inputs, kernel, _ = weight.shape
    size = -(-x.shape[1] // stride)
    padding = max((size - 1) * stride + kernel - x.shape[1], 0)
    before = padding // 2
    x = np.pad(x, ((0, 0), (before, padding - before), (before, padding - before)))
    result = np.zeros((outputs, size, size))
    for i in range(kernel):
        for j in range(kernel):
            part = x[:, i : i + size * stride : stride, j : j + size * stride : stride]
            part = part[:, :size, :size]
            if inputs == 1:  # depthwise
                result += weight[:, 0, i, j, None, None] * part
            else:
                result += np.einsum("oc,crs->ors", weight[:, :, i, j], part)
    return result


def norm(x, tensors, name):
    gain, shift, mean, variance = (
        tensors[f"{name}.{part}"].astype(float)[:, None, None]
        for part in ("weight", "bias", "running_mean", "running_var")
    )
    return gain * (x - mean) / np.sqrt(variance + 1e-3) + shift


def relu6(x):
    return np.minimum(np.maximum(x, 0), 6)


def literal(tensors, x, depths):
    """Embedding and logits. Blocks are told apart by the tensors that they have."""
    strides = {"first": (1, 2, 2, 2, 1, 2, 1), "other": 1}
    x = relu6(norm(convolution(x, tensors["_conv_stem.weight"], 2), tensors, "_bn0"))
    number = 0
    for stage, repeats in enumerate(depths):
        for place in range(repeats):
            stride = strides["first"][stage] if place == 0 else strides["other"]
            name, before = f"_blocks.{number}.", x
            if f"{name}_expand_conv.weight" in tensors:
                x = convolution(x, tensors[f"{name}_expand_conv.weight"], 1)
                x = relu6(norm(x, tensors, f"{name}_bn0"))
            x = convolution(x, tensors[f"{name}_depthwise_conv.weight"], stride)
            x = relu6(norm(x, tensors, f"{name}_bn1"))
            x = norm(
                convolution(x, tensors[f"{name}_project_conv.weight"], 1), tensors, f"{name}_bn2"
            )
            if x.shape == before.shape:
                x = x + before
            number += 1
    x = relu6(norm(convolution(x, tensors["_conv_head.weight"], 1), tensors, "_bn1"))
    embedding = x.mean(axis=(1, 2))
    return embedding, tensors["_fc.weight"].astype(float) @ embedding + tensors["_fc.bias"]


@pytest.mark.parametrize(
    ("name", "depths"),
    [("lite0", (1, 2, 2, 3, 3, 4, 1)), ("lite1", (1, 3, 3, 4, 4, 5, 1))],
)
@pytest.mark.parametrize("side", [64, 75])  # of which one is odd all the way down
def test_the_graph_is_the_network(name, depths, side):
    bundled = models.BUNDLED[name]
    tensors = models._weights(bundled)
    content = efficientnet.to_onnx(tensors, bundled.depth, side)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    images = np.random.default_rng(0).normal(size=(2, 3, side, side)).astype(np.float32)
    embeddings, logits = session.run(["embedding", "logits"], {"image": images})
    assert embeddings.shape == (2, 1280)
    assert logits.shape == (2, 1000)
    for image, embedding, logit in zip(images, embeddings, logits, strict=True):
        wanted = literal(tensors, image.astype(float), depths)
        np.testing.assert_allclose(embedding, wanted[0], atol=2e-5)
        np.testing.assert_allclose(logit, wanted[1], atol=1e-4)
