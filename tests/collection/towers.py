"""A model of two towers that knows colours and shapes, made here: no network is trained for it.

The picture's tower measures how much of each colour there is and in which directions edges run, and
a linear map, fitted to drawings by least squares, turns that into the space of the words. The
words' tower is a table with a vector for each word, and their mean.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, ImageDraw
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from ital.collection.models import NORMALISATIONS

COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 160, 60),
    "blue": (40, 70, 210),
    "yellow": (235, 205, 40),
}
SHAPES = ("circle", "square", "triangle")
KINDS = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]
WORDS = [*COLOURS, *SHAPES]
SIDE = 48
_SPECIAL = {"[PAD]": 0, "[UNK]": 1}
_DIRECTIONS = 12


def drawing(kind: str, rng: np.random.Generator, side: int = 64) -> Image.Image:
    """A shape in a colour, somewhere on a ground of grey."""
    colour, shape = kind.split()
    ground = int(rng.integers(170, 250))
    # Drawn large and made small: edges are smooth.
    image = Image.new("RGB", (4 * side, 4 * side), (ground,) * 3)
    size = rng.uniform(0.24, 0.38) * 4 * side
    x, y = rng.uniform(size + 8, 4 * side - size - 8, 2)
    fill = tuple(int(np.clip(c + rng.normal(0, 12), 0, 255)) for c in COLOURS[colour])
    draw = ImageDraw.Draw(image)
    if shape == "circle":
        draw.ellipse([x - size, y - size, x + size, y + size], fill)
    elif shape == "square":
        draw.rectangle([x - size * 0.9, y - size * 0.9, x + size * 0.9, y + size * 0.9], fill)
    else:
        draw.regular_polygon((x, y, size), 3, fill=fill)
    return image.resize((side, side), Image.Resampling.LANCZOS)


def draw_all(folder: Path, each: int, seed: int = 0) -> Path:
    """So many pictures of each kind, named like it: ``red circle 03.png``."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        for number in range(each):
            drawing(kind, rng).save(folder / f"{kind} {number:02}.png")
    return folder


def towers(folder: Path) -> Path:
    """Write model.onnx, text_model.onnx and tokenizer.json to a folder, as on a hub. Returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    shown = [(kind, drawing(kind, rng)) for kind in KINDS for _ in range(24)]
    pixels = np.stack([np.asarray(image.resize((SIDE, SIDE))) for _, image in shown])
    mean, deviation = np.array(NORMALISATIONS["clip"])
    pictures = ((pixels - mean) / deviation).transpose(0, 3, 1, 2).astype(np.float32)
    session = onnxruntime.InferenceSession(_picture_tower(None).SerializeToString())
    measured = session.run(None, {"pixel_values": pictures})[0]
    measured = np.hstack([measured, np.ones((len(measured), 1))])
    wanted = np.array([[float(word in kind.split()) for word in WORDS] for kind, _ in shown])
    fitted, *_ = np.linalg.lstsq(measured, wanted, rcond=None)
    # As in models that were trained, all pictures have something in common that no word has.
    apart = np.zeros((len(fitted), 1))
    apart[-1] = 2.0
    onnx.save(_picture_tower(np.hstack([fitted, apart])), folder / "model.onnx")
    onnx.save(_text_tower(), folder / "text_model.onnx")
    tokenizer = Tokenizer(
        models.WordLevel(_SPECIAL | {word: 2 + n for n, word in enumerate(WORDS)}, "[UNK]")
    )
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(16)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def _picture_tower(fitted: np.ndarray | None) -> onnx.ModelProto:
    """Shares of colours and of directions of edges, and what a linear map makes of them."""
    # How much a pixel is of a colour: along the colour, less what it is along all others.
    hues = np.array(list(COLOURS.values()), float) - 128
    hues -= hues.mean(axis=1, keepdims=True)
    hues /= np.linalg.norm(hues, axis=1, keepdims=True)
    angles = np.arange(_DIRECTIONS) * 2 * np.pi / _DIRECTIONS
    ramp = np.array([-1.0, 0.0, 1.0])
    across, along = np.outer([1.0, 2, 1], ramp) / 8, np.outer(ramp, [1.0, 2, 1]) / 8
    edges = np.cos(angles)[:, None, None] * across + np.sin(angles)[:, None, None] * along
    constants = {
        "hues": hues[:, :, None, None],
        "edges": edges[:, None],
        # Squared again and again, the direction that is closest stands out.
        "power": np.array(4.0),
        "small": np.array(1e-6),
    }
    node = helper.make_node
    nodes = [
        node("Conv", ["pixel_values", "hues"], ["along_hue"]),
        node("Relu", ["along_hue"], ["of_hue"]),
        node("ReduceMean", ["of_hue"], ["amounts"], axes=[2, 3], keepdims=0),
        node("ReduceSum", ["amounts", "one"], ["amount"], keepdims=1),
        node("Add", ["amount", "small"], ["some"]),
        node("Div", ["amounts", "some"], ["colours"]),
        node("ReduceMax", ["of_hue"], ["coloured"], axes=[1], keepdims=1),
        node("Conv", ["coloured", "edges"], ["slopes"], pads=[0, 0, 0, 0]),
        node("Relu", ["slopes"], ["uphill"]),
        node("Pow", ["uphill", "power"], ["steep"]),
        node("ReduceMean", ["steep"], ["runs"], axes=[2, 3], keepdims=0),
        node("ReduceSum", ["runs", "one"], ["run"], keepdims=1),
        node("Add", ["run", "small"], ["any"]),
        node("Div", ["runs", "any"], ["directions"]),
        node("Concat", ["colours", "directions"], ["measured"], axis=1),
    ]
    if fitted is not None:
        constants |= {"weights": fitted[:-1], "offset": fitted[-1]}
        nodes.append(node("Gemm", ["measured", "weights", "offset"], ["image_embeds"]))
    initial = [numpy_helper.from_array(v.astype(np.float32), k) for k, v in constants.items()]
    initial.append(numpy_helper.from_array(np.array([1]), "one"))
    name = "measured" if fitted is None else "image_embeds"
    return _model(
        nodes, [("pixel_values", TensorProto.FLOAT, ("batch", 3, SIDE, SIDE))], name, initial
    )


def _text_tower() -> onnx.ModelProto:
    """The mean of what the table has for each word; nothing but what is common for others."""
    table = np.zeros((len(_SPECIAL) + len(WORDS), len(WORDS) + 1), np.float32)
    table[len(_SPECIAL) :, :-1] = np.eye(len(WORDS))
    table[:, -1] = -0.5
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "input_ids"], ["found"]),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["mask", "last"], ["column"]),
        node("Mul", ["found", "column"], ["there"]),
        node("ReduceSum", ["there", "one"], ["sum"], keepdims=0),
        node("ReduceSum", ["column", "one"], ["count"], keepdims=0),
        node("Div", ["sum", "count"], ["text_embeds"]),
    ]
    initial = [
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(np.array([1]), "one"),
        numpy_helper.from_array(np.array([2]), "last"),
    ]
    kinds = [(n, TensorProto.INT64, ("batch", "length")) for n in ("input_ids", "attention_mask")]
    return _model(nodes, kinds, "text_embeds", initial)


def _model(nodes: list, inputs: list, output: str, initial: list) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "towers",
        [helper.make_tensor_value_info(*one) for one in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        initial,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
