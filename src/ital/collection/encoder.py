"""Embeddings of pictures: a model in ONNX Runtime, and pictures in the form that it wants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from ital.collection.models import NORMALISATIONS, AnyModel, Model
from ital.collection.pictures import THUMBNAIL
from ital.collection.shelf import ModelError

Vectors = npt.NDArray[np.float32] | npt.NDArray[np.float16]

_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}


class Encoder:
    """A model that turns pictures into vectors of length 1."""

    def __init__(self, model: Model, threads: int = 0) -> None:
        self.model = model
        self._session = model.session(threads)
        declared = self._session.get_inputs()[0]
        if declared.type not in _TYPES:
            raise ModelError(f"{model.name} must take numbers of 8, 16 or 32 bits: {declared.type}")
        self._input, self._dtype = declared.name, _TYPES[declared.type]
        first = declared.shape[0]
        self._fixed = first if isinstance(first, int) and first > 0 else None
        axes = (3, 1, 1) if model.layout == "NCHW" else (3,)
        mean, deviation = NORMALISATIONS[model.normalisation]
        self._mean = np.array(mean, np.float32).reshape(axes)
        self._scale = (1 / np.array(deviation, np.float64)).astype(np.float32).reshape(axes)

    @property
    def least(self) -> int:
        """Pixels that a picture should have on its shorter side, for the model and a thumbnail."""
        return max(THUMBNAIL, math.ceil(self.model.side / self.model.crop))

    @property
    def room(self) -> np.dtype[Any]:
        """What a prepared picture is."""
        side = self.model.side
        one = (3, side, side) if self.model.layout == "NCHW" else (side, side, 3)
        return np.dtype((self._dtype, one))

    def buffer(self, count: int) -> npt.NDArray[np.generic]:
        """Room for some prepared pictures."""
        return np.empty(count, self.room)

    def prepare(
        self, image: Image.Image, out: npt.NDArray[np.generic] | None = None
    ) -> npt.NDArray[np.generic]:
        """The middle of a picture as an array that the model takes, in ``out`` if it is given."""
        side, seen = self.model.side, image.size if self.model.stretch else (min(image.size),) * 2
        wide, high = (self.model.crop * length for length in seen)
        left, top = (image.width - wide) / 2, (image.height - high) / 2
        box = (left, top, left + wide, top + high)
        # Neighbours found are as good as with a bicubic filter, which takes half as long again.
        square = image.resize((side, side), Image.Resampling.BILINEAR, box)
        pixels = np.asarray(square)
        if self.model.layout == "NCHW":
            pixels = pixels.transpose(2, 0, 1)
        prepared = self.buffer(1)[0] if out is None else out
        if prepared.dtype == np.float32:
            np.subtract(pixels, self._mean, out=prepared)
            np.multiply(prepared, self._scale, out=prepared)
        elif prepared.dtype == np.uint8:
            prepared[...] = pixels
        else:
            prepared[...] = (pixels - self._mean) * self._scale
        return prepared

    def embed(self, prepared: npt.NDArray[np.generic]) -> Vectors:
        """A vector of length 1 for each of some prepared pictures; NaN where a model gives none."""
        vectors = self._pooled(self.run(prepared, self.model.output)).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.astype(np.float32)

    def run(self, prepared: npt.NDArray[np.generic], output: str) -> npt.NDArray[np.floating]:
        """Any output of the model, as it comes."""
        size = self._fixed or len(prepared)
        parts = []
        for start in range(0, len(prepared), size):
            part = prepared[start : start + size]
            missing = size - len(part)
            if missing:  # the model takes batches of one size only
                part = np.concatenate([part, np.repeat(part[-1:], missing, axis=0)])
            parts.append(self._run(part, output)[: size - missing])
        return np.concatenate(parts)

    def _run(self, part: npt.NDArray[np.generic], output: str) -> npt.NDArray[np.floating]:
        try:
            values = np.asarray(self._session.run([output], {self._input: part})[0])
        except Exception as error:  # ONNX Runtime has no common class for what it raises
            reason = " ".join(str(error).split())
            raise ModelError(f"{self.model.name} cannot be run: {reason}") from error
        if values.dtype.kind not in "fiu" or values.ndim < 2 or len(values) != len(part):
            raise ModelError(
                f"the output {output} of {self.model.name} must be a vector for each picture, got "
                f"{values.dtype} of the shape {values.shape} for {len(part)} pictures"
            )
        return values

    def _pooled(self, values: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        """One vector for each picture: the mean of a map, the first of a row of tokens."""
        if values.ndim == 4:
            axes = (2, 3) if self.model.layout == "NCHW" else (1, 2)
            pooled: npt.NDArray[np.floating] = values.mean(axis=axes)
            return pooled
        if values.ndim == 3:
            return values[:, 0]
        return values.reshape(len(values), -1)


class Encoders:
    """Several models, each of which describes all pictures: their vectors, one after the other.

    All have the same weight: each is of length 1 before the whole is brought to it.
    """

    def __init__(self, encoders: list[Encoder]) -> None:
        self.encoders = encoders
        # A field for each, so that a batch of pictures is one array whatever each of them takes.
        self._room = np.dtype([(str(place), one.room) for place, one in enumerate(encoders)])

    @property
    def least(self) -> int:
        """Pixels that a picture should have on its shorter side."""
        return max(one.least for one in self.encoders)

    def buffer(self, count: int) -> npt.NDArray[np.generic]:
        """Room for some pictures, prepared for each of the models."""
        return np.empty(count, self._room)

    def prepare(self, image: Image.Image, out: Any) -> None:
        """The middle of a picture as arrays that the models take, in one place of a buffer."""
        for place, one in enumerate(self.encoders):
            one.prepare(image, out[str(place)])

    def embed(self, prepared: npt.NDArray[Any]) -> Vectors:
        """A vector of length 1 for each of some prepared pictures."""
        fields = [np.ascontiguousarray(prepared[name]) for name in self._room.names or ()]
        parts = [one.embed(field) for one, field in zip(self.encoders, fields, strict=True)]
        vectors: Vectors = np.concatenate(parts, axis=1, dtype=np.float32)
        return vectors / np.float32(math.sqrt(len(parts)))


def encoder(model: AnyModel, threads: int = 0) -> Encoder | Encoders:
    """What describes pictures by a model; on all cores if ``threads`` is 0."""
    if isinstance(model, Model):
        return Encoder(model, threads)
    return Encoders([Encoder(part, threads) for part in model.parts])
