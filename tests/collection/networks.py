"""Small ONNX models whose embeddings can be told from the picture: the mean of each colour."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, HALF, BYTE = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.UINT8


def means(
    path: Path,
    shape: tuple = ("batch", 3, 32, 32),
    kind: int = FLOAT,
    outputs: tuple[str, ...] = ("embedding",),
    keep: bool = False,
    external: bool = False,
    axes: list[int] | None = None,
    factor: int = 1,
) -> Path:
    """A model that takes pictures of a shape and gives the mean of each colour, for each output.

    The second output is twice the first, and so on. With ``keep`` the map itself is the output.
    Means over other ``axes``, or as many factors as ``factor``, make models that are of no use.
    """
    axes = axes or ([2, 3] if shape[1] == 3 else [1, 2])
    nodes = [helper.make_node("Cast", ["pixel_values"], ["cast"], to=FLOAT)]
    constants = []
    for number, name in enumerate(outputs, start=1):
        factors = np.full((factor,), number, np.float32)
        constants.append(numpy_helper.from_array(factors, f"factor{number}"))
        inner = "cast"
        if not keep:
            nodes.append(
                helper.make_node("ReduceMean", ["cast"], [f"mean{number}"], axes=axes, keepdims=0)
            )
            inner = f"mean{number}"
        nodes.append(helper.make_node("Mul", [inner, f"factor{number}"], [name]))
    graph = helper.make_graph(
        nodes,
        "means",
        [helper.make_tensor_value_info("pixel_values", kind, shape)],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = {}
    if external:
        options = {
            "save_as_external_data": True,
            "location": f"{path.name}.data",
            "size_threshold": 0,
        }
    onnx.save(model, path, **options)
    return path


def tokens(path: Path) -> Path:
    """A model that gives a row of tokens, the first of which is the mean of each colour."""
    nodes = [
        helper.make_node("ReduceMean", ["pixel_values"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("Unsqueeze", ["mean", "axis"], ["first"]),
        helper.make_node("Neg", ["first"], ["second"]),
        helper.make_node("Concat", ["first", "second"], ["last_hidden_state"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "tokens",
        [helper.make_tensor_value_info("pixel_values", FLOAT, ("batch", 3, "h", "w"))],
        [helper.make_tensor_value_info("last_hidden_state", FLOAT, None)],
        [numpy_helper.from_array(np.array([1]), "axis")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path
