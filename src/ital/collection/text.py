"""Embeddings of words: the text tower of a model that puts words and pictures in one space."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tokenizers

from ital.collection.encoder import Vectors
from ital.collection.models import ModelError, _session

_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_OUTPUTS = ("text_embeds", "text_embedding", "embedding", "sentence_embedding", "pooler_output")
"""Outputs that are taken before others, if a model has several."""

_LONGEST = 1_000_000
"""What configurations give as the greatest length where there is none is greater than that."""


class TextEncoder:
    """A model that turns phrases into vectors of length 1, and the tokenizer that it came with."""

    def __init__(self, model: Path, tokenizer: Path, threads: int = 0) -> None:
        self._model = model
        self._session = _session(model, threads)
        self._inputs = self._known_inputs()
        names = [one.name for one in self._session.get_outputs()]
        # Of several that are not known by name, the first is what a model is for.
        self._output = next((name for name in _OUTPUTS if name in names), names[0])
        self._tokenizer = self._read(tokenizer)

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
        fixed = axes[-1] if isinstance(axes[-1], int) and axes[-1] > 0 else None
        config = _config(path)
        longest = fixed or config.get("model_max_length")
        longest = longest if isinstance(longest, int) and longest < _LONGEST else None
        if longest and (fixed or tokenizer.truncation is None):
            tokenizer.enable_truncation(longest)
        # Without a mask, a model has seen nothing but rows of one length (as SigLIP), or does not
        # look at what comes after the end (as CLIP).
        whole = fixed or (None if "attention_mask" in self._inputs else longest)
        if whole and (fixed or tokenizer.padding is None):
            known = tokenizer.padding or {}
            pad = known.get("pad_token") or _token(config.get("pad_token"))
            number = None if pad is None else tokenizer.token_to_id(pad)
            if number is not None:
                tokenizer.enable_padding(length=whole, pad_id=number, pad_token=pad)
        return tokenizer

    def _one(self, phrase: str) -> npt.NDArray[np.float32]:
        # In lower case: CLIP's tokenizer does the same, and SigLIP 2 was taught so, though its
        # own does not.
        encoded = self._tokenizer.encode(phrase.lower())
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


def _config(tokenizer: Path) -> dict[str, Any]:
    """What is beside a tokenizer of what it leaves open; nothing, if there is no such file."""
    try:
        found = json.loads(tokenizer.with_name("tokenizer_config.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _token(told: Any) -> str | None:
    """A token as a configuration names it: by its text, or an object that has it."""
    token = told.get("content") if isinstance(told, dict) else told
    return token if isinstance(token, str) else None
