"""Embeddings of words: the text tower of a model that puts words and pictures in one space."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tokenizers

from ital.collection.encoder import Vectors
from ital.collection.models import AnyModel, open_session, parts_of
from ital.collection.shelf import Files, ModelError, shelf
from ital.collection.words import Words
from ital.gaussian import FloatArray

_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_OUTPUTS = ("text_embeds", "text_embedding", "embedding", "sentence_embedding", "pooler_output")
"""Outputs that are taken before others, if a model has several."""

_LONGEST = 1_000_000
"""What configurations give as the greatest length where there is none is greater than that."""


class TextEncoder:
    """A model that turns phrases into vectors of length 1, and the tokenizer that it came with."""

    def __init__(self, files: Files) -> None:
        assert files.text is not None
        assert files.tokenizer is not None
        self._files, self._model = files, files.text
        self._session = open_session(files.text)
        self._inputs = self._known_inputs()
        names = [one.name for one in self._session.get_outputs()]
        # Of several that are not known by name, the first is what a model is for.
        self._output = next((name for name in _OUTPUTS if name in names), names[0])
        self._config = _config(files.tokenizer)
        self._lower = files.lower or self._config.get("do_lower_case") is True
        self._tokenizer = self._read(files.tokenizer)

    def embed(self, phrases: Iterable[str]) -> Vectors:
        """A vector for each phrase, which does not depend on the others."""
        return np.stack([self._one(phrase) for phrase in phrases])

    def _known_inputs(self) -> dict[str, npt.DTypeLike]:
        inputs = {one.name: one.type for one in self._session.get_inputs()}
        others = set(inputs) - {"input_ids", "attention_mask", "token_type_ids"}
        if "input_ids" not in inputs or others or not set(inputs.values()) <= set(_TYPES):
            raise ModelError(
                f"{self._model} must take words alone, input_ids and if need be attention_mask in "
                f"whole numbers, and takes {inputs}: give the text model without the pictures'"
            )
        return {name: _TYPES[kind] for name, kind in inputs.items()}

    def _read(self, path: Path) -> tokenizers.Tokenizer:
        """The tokenizer, with padding and truncation as the model wants them."""
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises nothing more special
            raise ModelError(f"{path} must be a tokenizer.json, but: {error}") from error
        axes = {one.name: one.shape for one in self._session.get_inputs()}["input_ids"]
        fixed = axes[-1] if isinstance(axes[-1], int) and axes[-1] > 0 else self._files.length
        told = self._config.get("model_max_length")
        longest = fixed or (told if isinstance(told, int) and told < _LONGEST else None)
        if longest and (fixed or tokenizer.truncation is None):
            tokenizer.enable_truncation(longest)
        # Without a mask, a model has seen nothing but rows of one length (as SigLIP), or does not
        # look at what comes after the end (as CLIP).
        whole = fixed or (None if "attention_mask" in self._inputs else longest)
        pad = self._pad(tokenizer)
        if whole and pad is not None and (fixed or tokenizer.padding is None):
            tokenizer.enable_padding(length=whole, pad_id=pad)
        return tokenizer

    def _pad(self, tokenizer: tokenizers.Tokenizer) -> int | None:
        """The number of the token that fills a row up, if there is a way to tell."""
        if self._files.length is not None:
            return self._files.pad
        if tokenizer.padding is not None:
            return int(tokenizer.padding["pad_id"])
        told = self._config.get("pad_token")
        token = told.get("content") if isinstance(told, dict) else told
        return tokenizer.token_to_id(token) if isinstance(token, str) else None

    def _one(self, phrase: str) -> npt.NDArray[np.float32]:
        encoded = self._tokenizer.encode(phrase.lower() if self._lower else phrase)
        columns = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        rows = {name: np.array([columns[name]], kind) for name, kind in self._inputs.items()}
        try:
            values = np.asarray(self._session.run([self._output], rows)[0])
        except Exception as error:  # ONNX Runtime has no common class for what it raises
            reason = " ".join(str(error).split())
            raise ModelError(f"{self._model} cannot be run on {phrase!r}: {reason}") from error
        if values.dtype.kind != "f" or values.ndim not in (2, 3) or len(values) != 1:
            raise ModelError(
                f"the output {self._output} of {self._model} must be a vector for each phrase, got "
                f"{values.dtype} of the shape {values.shape} for one"
            )
        vector = values[0].astype(np.float64)
        if vector.ndim == 2:  # a vector for each token: those that are not there do not count
            vector = np.average(vector, axis=0, weights=encoded.attention_mask)
        length = np.linalg.norm(vector)
        if not 0 < length < np.inf:
            raise ModelError(f"{self._model} makes nothing of {phrase!r}")
        unit: npt.NDArray[np.float32] = (vector / length).astype(np.float32)
        return unit


def text_direction(words: Words, model: AnyModel | None, widths: Sequence[int]) -> FloatArray:
    """Where pictures fit words best, among the embeddings of a model.

    Of several models that describe pictures together, each by vectors of its own width, those that
    know no words have no say.
    """
    if model is None or not any(part.knows_words for part in parts_of(model)):
        own = "the embeddings came from elsewhere" if model is None else f"{model.name} does not"
        others = ", ".join(name for name, entry in shelf().items() if entry.words)
        raise ModelError(
            f"text needs a model that knows words, but {own}: index the pictures by one that does "
            f"({others}; see ital models), or give its text model by --text-model"
        )
    pieces = []
    for part, width in zip(parts_of(model), widths, strict=True):
        known = part.knows_words
        piece = words.direction(_encoder(part.files).embed) if known else np.zeros(width)
        if len(piece) != width:
            raise ModelError(
                f"the vectors of words must have the {width} dimensions of those of pictures, but "
                f"have {len(piece)}: is it the text model that belongs to {part.name}?"
            )
        pieces.append(piece)
    return np.concatenate(pieces)


@functools.lru_cache(maxsize=1)  # it may be large, and many collections may share it
def _encoder(files: Files) -> TextEncoder:
    return TextEncoder(files)


def _config(tokenizer: Path) -> dict[str, Any]:
    """What is beside a tokenizer of what it leaves open; nothing, if there is no such file."""
    try:
        found = json.loads(tokenizer.with_name("tokenizer_config.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
