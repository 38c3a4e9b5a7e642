"""Checks of arguments. Each error names the argument, what it was and what it may be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NewType

import numpy as np
import numpy.typing as npt

Identifier = NewType("Identifier", int)
"""What an image is called, wherever it is; a negative number for a vector from outside."""

Row = NewType("Row", int)
"""Where an image is in a pool; a negative number for a vector from outside, which is not in it."""

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Rows = npt.NDArray[np.integer[Any]]


def whole_number(value: Any, name: str, least: int) -> int:
    """``value`` as an int of at least ``least``; a bool or a fraction is not a whole number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def number(value: Any, name: str, allowed: str, least: float, most: float = math.inf) -> float:
    """``value`` as a finite float in [least, most]."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise TypeError(f"{name} must be {allowed}, got {value!r}")
    converted = float(value)
    if not (math.isfinite(converted) and least <= converted <= most):
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return converted


def positive(value: Any, name: str) -> float:
    """``value`` as a positive float whose square neither vanishes nor overflows."""
    return number(value, name, "a positive number from 1e-150 to 1e150", 1e-150, 1e150)


def probability(value: Any, name: str) -> float:
    return number(value, name, "a probability from 0 to 1", least=0.0, most=1.0)


def index(value: Any, name: str, size: int) -> int:
    """``value`` as an index into ``size`` images; negative ones do not count from the end."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an index from 0 to {size - 1}, got {value!r}")
    if not 0 <= value < size:
        raise IndexError(f"{name} must be an index from 0 to {size - 1}, got {value!r}")
    return int(value)


def identifiers(values: Any, name: str, count: int) -> IntArray:
    """``values`` as ``count`` ascending whole numbers."""
    _nothing_masked(values, name)
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or array.shape != (count,):
        raise ValueError(
            f"{name} must be {count} whole numbers, got the shape {array.shape} and type "
            f"{array.dtype}"
        )
    array = array.astype(np.int64)
    if count and (array[0] < 0 or (np.diff(array) <= 0).any()):
        raise ValueError(f"{name} must be ascending whole numbers of at least 0, got {array}")
    return array


def matrix(
    values: Any, name: str, columns: int | None = None, single: bool = False
) -> npt.NDArray[Any]:
    """``values`` as a real two-dimensional array, in the type that it has.

    With ``single``, one vector is an array of one row.
    """
    wanted = "vectors of equal length: a real two-dimensional array"
    _nothing_masked(values, name)
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} must be {wanted}; NumPy says: {error}") from error
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} must be {wanted}, got elements of type {array.dtype}")
    if single and array.ndim == 1:
        array = array[None]
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must be {wanted}, got the shape {array.shape}")
    if columns is not None and array.shape[1] != columns:
        raise ValueError(f"{name} must be vectors of length {columns}, got length {array.shape[1]}")
    return array


def vector(values: Any, name: str, length: int) -> npt.NDArray[np.float64]:
    """``values`` as one finite vector of ``length`` numbers."""
    _nothing_masked(values, name)
    array = np.asarray(values)
    if array.dtype.kind not in "fiu" or array.shape != (length,):
        raise ValueError(
            f"{name} must hold indices or vectors of {length} numbers, got one of the shape "
            f"{array.shape} and type {array.dtype}"
        )
    result = array.astype(float)
    finite_rows(squares_are_finite(result[None]), name)
    return result


def numbers(values: Any, name: str, count: int) -> npt.NDArray[np.float64]:
    """``values`` as ``count`` finite numbers, an array of its own."""
    _nothing_masked(values, name)
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} must be {count} numbers; NumPy says: {error}") from error
    if array.dtype.kind not in "fiub" or array.shape != (count,):
        raise ValueError(
            f"{name} must be {count} numbers, one for each image, got the shape {array.shape} and "
            f"type {array.dtype}"
        )
    result = array.astype(float)
    finite_rows(np.isfinite(result), name)
    return result


def examples(values: Any, name: str) -> list[Any]:
    """Single examples: whole numbers for images of the pool, arrays for vectors from outside."""
    if isinstance(values, np.ndarray) and values.ndim == 0:
        values = values.item()
    if isinstance(values, (int, np.integer)):
        return [values]
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be indices or vectors, got {values!r}")
    parts = list(values)
    if parts and all(isinstance(part, (float, np.floating)) for part in parts):
        parts = [parts]  # numbers that are not whole are one vector
    try:
        return [p if isinstance(p, (int, np.integer)) else np.asanyarray(p) for p in parts]
    except ValueError as error:
        raise ValueError(f"{name} must be indices or vectors, got {values!r}") from error


def _nothing_masked(values: Any, name: str) -> None:
    """Refuse what is masked: arrays forget their masks, and the values behind them would count."""
    if np.ma.is_masked(values):
        masked = int(np.ma.getmaskarray(values).sum())
        raise ValueError(f"{name} must have no masked values, got {masked}: fill or drop them")


def squares_are_finite(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Whether each row is finite and short enough for its squared norm to be so, too."""
    with np.errstate(over="ignore", invalid="ignore"):
        result: npt.NDArray[np.bool_] = np.isfinite(np.einsum("ij,ij->i", rows, rows))
    return result


def finite_rows(finite: npt.NDArray[np.bool_], name: str) -> None:
    """Refuse rows that are not finite, and name the first of them."""
    if not finite.all():
        rows = np.flatnonzero(~finite)
        raise ValueError(
            f"{name} must be finite, but {rows.size} of {finite.size} rows hold NaN, infinite or "
            f"overflowing values, the first of them row {rows[0]}"
        )


def numpy_says(error: Exception) -> str:
    """Why NumPy cannot read a file, without its advice to trust the file and load it unsafely."""
    return "it holds no numbers" if "pickle" in str(error) else str(error)
