"""EfficientNet-Lite as an ONNX graph, from the tensors of its PyTorch form.

M. Tan and Q. Le, *EfficientNet*, ICML 2019, in the Lite variant: no squeeze and excitation, ReLU6
instead of swish. Batch norms are folded into the convolutions before them. Padding is TensorFlow's
"same", which puts the odd row and column at the end: ONNX calls that SAME_UPPER.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[np.float32]

_EPSILON = 1e-3
"""What the batch norms add to their variances."""

_OPSET, _IR = 17, 8
"""Of 2022: every ONNX Runtime of the last years reads them."""


@dataclass(frozen=True)
class Stage:
    """Blocks of one kind: the first of them strides and changes the number of channels."""

    kernel: int
    stride: int
    expansion: int
    channels: int
    repeats: int


STAGES = (
    Stage(3, 1, 1, 16, 1),
    Stage(3, 2, 6, 24, 2),
    Stage(5, 2, 6, 40, 2),
    Stage(3, 2, 6, 80, 3),
    Stage(5, 1, 6, 112, 3),
    Stage(5, 2, 6, 192, 4),
    Stage(3, 1, 6, 320, 1),
)


def blocks(depth: float) -> list[Stage]:
    """Single blocks of a network ``depth`` times as deep. The first and last stage never grow."""
    result = []
    for number, stage in enumerate(STAGES):
        inner = 0 < number < len(STAGES) - 1
        repeats = math.ceil(depth * stage.repeats) if inner else stage.repeats
        for place in range(repeats):
            stride = stage.stride if place == 0 else 1
            result.append(Stage(stage.kernel, stride, stage.expansion, stage.channels, 1))
    return result


class _Graph:
    """Nodes that are added one after another; each method returns the name of its output."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        self.tensors = tensors
        self.nodes: list[onnx.NodeProto] = []
        self.constants = [
            numpy_helper.from_array(np.array(0, np.float32), "zero"),
            numpy_helper.from_array(np.array(6, np.float32), "six"),
        ]

    def node(self, kind: str, inputs: list[str], name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def constant(self, array: Array, name: str) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def convolution(self, inputs: str, layer: str, norm: str, stride: int, relu: bool) -> str:
        """A convolution with the batch norm after it folded in, and ReLU6 if wanted."""
        weight = self.tensors[f"{layer}.weight"]
        gain, shift, mean, variance = (
            self.tensors[f"{norm}.{name}"].astype(np.float64)
            for name in ("weight", "bias", "running_mean", "running_var")
        )
        gain = gain / np.sqrt(variance + _EPSILON)
        name = layer.replace("._", "/").lstrip("_")
        output = self.node(
            "Conv",
            [
                inputs,
                self.constant((weight * gain[:, None, None, None]).astype("f4"), f"{name}/weight"),
                self.constant((shift - mean * gain).astype("f4"), f"{name}/bias"),
            ],
            name,
            strides=[stride, stride],
            kernel_shape=list(weight.shape[2:]),
            # In a depthwise convolution, every channel is a group.
            group=len(weight) if weight.shape[1] == 1 else 1,
            auto_pad="SAME_UPPER",
        )
        return self.node("Clip", [output, "zero", "six"], f"{name}/relu6") if relu else output


def to_onnx(tensors: Mapping[str, Array], depth: float, side: int) -> bytes:
    """The network with a free batch size and two outputs, ``embedding`` and ``logits``."""
    graph = _Graph(tensors)
    last = graph.convolution("image", "_conv_stem", "_bn0", 2, relu=True)
    channels = tensors["_conv_stem.weight"].shape[0]
    for number, block in enumerate(blocks(depth)):
        name, before = f"_blocks.{number}.", last
        norms = iter(("_bn0", "_bn1", "_bn2") if block.expansion > 1 else ("_bn1", "_bn2"))
        if block.expansion > 1:
            last = graph.convolution(last, f"{name}_expand_conv", name + next(norms), 1, relu=True)
        last = graph.convolution(
            last, f"{name}_depthwise_conv", name + next(norms), block.stride, relu=True
        )
        last = graph.convolution(last, f"{name}_project_conv", name + next(norms), 1, relu=False)
        if block.stride == 1 and block.channels == channels:
            last = graph.node("Add", [last, before], f"blocks.{number}/sum")
        channels = block.channels
    last = graph.convolution(last, "_conv_head", "_bn1", 1, relu=True)
    pooled = graph.node("GlobalAveragePool", [last], "pool")
    graph.node("Flatten", [pooled], "embedding")
    weight = graph.constant(tensors["_fc.weight"], "classifier/weight")
    bias = graph.constant(tensors["_fc.bias"], "classifier/bias")
    graph.node("Gemm", ["embedding", weight, bias], "logits", transB=1)
    classes, width = tensors["_fc.weight"].shape
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "EfficientNet-Lite",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, side, side])],
            [
                helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", width]),
                helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", classes]),
            ],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR,
        producer_name="ital",
    )
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString(deterministic=True)
    return content
