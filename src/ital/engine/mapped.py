"""Arrays in files, which are not sent: whoever needs one opens it where it is."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Mapped:
    """An array in a file, by where it is."""

    path: str
    dtype: str
    offset: int
    shape: tuple[int, ...]
    order: Literal["C", "F"]

    @staticmethod
    def of(array: Any) -> Mapped | None:
        """Of a whole memory map, as it is or as an array of the plain kind; ``None`` of others."""
        whole = array if isinstance(array, np.memmap) else getattr(array, "base", None)
        base: object = getattr(whole, "base", None)
        if not isinstance(whole, np.memmap) or not isinstance(base, mmap.mmap):
            return None
        if whole.__array_interface__ != array.__array_interface__:
            return None
        order: Literal["C", "F"] = "C" if whole.flags.c_contiguous else "F"
        place = str(whole.filename), whole.dtype.str, int(whole.offset)
        return Mapped(*place, whole.shape, order)

    def open(self) -> npt.NDArray[Any]:
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape, self.order)
