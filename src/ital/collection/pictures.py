"""Pictures from files that nobody vouches for: upright, in RGB, no larger than needed."""

from __future__ import annotations

import ctypes
import errno
import io
import math
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

import numpy as np
import PIL
import pillow_heif
from PIL import Image, ImageCms, UnidentifiedImageError

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "HEIF", "AVIF")
"""What is tried, by content, in Pillow's names."""

MAX_PIXELS = 250_000_000
THUMBNAIL = 256
"""The longer side of a thumbnail in pixels."""

_LARGE = 16_000_000
"""Pictures of more pixels are decoded one at a time, to bound the memory."""

_STRIP = 4_000_000
"""Pixels of a large picture that are converted at a time."""

_ORIENTATION = 0x0112
_EXIF, _TAKEN, _WRITTEN = 0x8769, 0x9003, 0x0132
"""Where EXIF says when a picture was taken, and when its file was written."""

_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""How to turn a picture by the orientation that EXIF gives it."""

_one_at_a_time = threading.Lock()

try:
    _trim: Callable[[int], object] | None = ctypes.CDLL(None).malloc_trim
except (AttributeError, OSError, TypeError):  # only glibc has to be told
    _trim = None

DECODERS = f"1, Pillow {PIL.__version__}, pillow-heif {pillow_heif.__version__}"
"""What decides which files can be read, our own part first."""

pillow_heif.register_heif_opener()
Image.init()
# Pillow refuses pictures from 179 megapixels on and warns from 89. Our limit stands in its place.
Image.MAX_IMAGE_PIXELS = MAX_PIXELS


class UnreadableError(ValueError):
    """A file that is no picture which can be read; the message is the reason."""


@dataclass(frozen=True)
class Picture:
    """A decoded picture, scaled down if it was large, and its size in the file."""

    image: Image.Image
    width: int
    height: int
    taken: int | None = None
    """When it was taken by its EXIF, in nanoseconds since 1970 by the clock of the camera."""


class _Quiet:
    """How many are within ``quietly``. Python's warnings are those of all threads."""

    lock = threading.Lock()
    count = 0
    filters = warnings.catch_warnings()


@contextmanager
def quietly() -> Iterator[None]:
    """Leave out warnings about oddities within files, which are many and help nobody."""
    with _Quiet.lock:
        if _Quiet.count == 0:
            _Quiet.filters = warnings.catch_warnings()
            _Quiet.filters.__enter__()
            warnings.simplefilter("ignore")
        _Quiet.count += 1
    try:
        yield
    finally:
        with _Quiet.lock:
            _Quiet.count -= 1
            if _Quiet.count == 0:
                _Quiet.filters.__exit__(None, None, None)


def kind(file: IO[bytes]) -> str:
    """The format of a picture, by what is in its file."""
    with _as_unreadable(), Image.open(file, formats=FORMATS) as image:
        return image.format or ""


def decode(file: IO[bytes], least: int = THUMBNAIL, most: int = MAX_PIXELS) -> Picture:
    """The first frame of a file, upright; ``least`` pixels or all it has on its shorter side.

    One of more than ``most`` pixels is refused.
    """
    with _as_unreadable(), Image.open(file, formats=FORMATS) as image:
        return _decoded(image, least, most)


@contextmanager
def _as_unreadable() -> Iterator[None]:
    """Say of a picture that it cannot be read, whatever the decoder says."""
    try:
        yield
    except UnreadableError:
        raise
    except UnidentifiedImageError:
        raise UnreadableError("not a picture of a known format") from None
    except Image.DecompressionBombError:
        raise UnreadableError(f"over {MAX_PIXELS // 10**6} megapixels") from None
    except MemoryError as error:
        raise OSError(errno.ENOMEM, "not enough memory") from error
    except Exception as error:  # decoders raise whatever comes to their minds
        if isinstance(error, OSError) and error.errno is not None:
            raise  # it is the disk that fails, not the picture
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UnreadableError(f"cannot be decoded: {reason}") from error


def from_image(image: Image.Image, least: int = THUMBNAIL) -> Picture:
    """A picture that someone has opened, prepared like those from files."""
    return _decoded(image.copy(), least)


def give_back() -> None:
    """Return memory that large pictures took to the system, where it is kept for the next."""
    if _trim is not None:
        _trim(0)


def shrunk(image: Image.Image) -> Image.Image:
    """A picture whose longer side has 256 pixels, or fewer if it has."""
    longer = max(image.size)
    if longer <= THUMBNAIL:
        return image
    width, height = (max(1, round(side * THUMBNAIL / longer)) for side in image.size)
    return image.resize((width, height), Image.Resampling.BILINEAR)


def thumbnail(image: Image.Image) -> bytes:
    """A picture as a JPEG, ``shrunk``."""
    stream = io.BytesIO()
    shrunk(image).save(stream, "JPEG", quality=85)
    return stream.getvalue()


def _decoded(image: Image.Image, least: int, most: int = MAX_PIXELS) -> Picture:
    width, height = image.size
    if width * height > most:
        raise UnreadableError(
            f"{width} x {height} pixels, which is over {most / 10**6:g} megapixels"
        )
    # The JPEG decoder scales by 1/2, 1/4 or 1/8 at once, which saves most of its work.
    factor = least / min(width, height)
    image.draft("RGB", (math.ceil(width * factor), math.ceil(height * factor)))
    with _alone(image) if image.width * image.height > _LARGE else nullcontext(False) as large:
        image.load()
        factor = max(1, min(image.size) // least)
        small = _reduced(image, factor) if large else _rgb(image, _white_point(image))
        if image.format == "TIFF":
            width, height = image.size  # Pillow has turned it
        turn, taken = _UPRIGHT.get(_orientation(image)), _taken(image)
    if turn is not None:
        small = small.transpose(turn)
        if turn not in (_UPRIGHT[2], _UPRIGHT[3], _UPRIGHT[4]):
            width, height = height, width
    return Picture(small, width, height, taken)


@contextmanager
def _alone(image: Image.Image) -> Iterator[bool]:
    """Whoever comes next finds the memory of a large picture free."""
    with _one_at_a_time:
        try:
            yield True
        finally:
            Image.Image.close(image)  # its pixels, and not its file
            give_back()


def _orientation(image: Image.Image) -> int:
    try:
        orientation = image.getexif().get(_ORIENTATION)
    except Exception:  # a picture is worth having without its EXIF, however broken that is
        return 1
    return orientation if isinstance(orientation, int) else 1


def _taken(image: Image.Image) -> int | None:
    try:
        exif = image.getexif()
        said = exif.get_ifd(_EXIF).get(_TAKEN) or exif.get(_WRITTEN)
        # EXIF knows no time zone.
        moment = datetime.strptime(str(said)[:19], "%Y:%m:%d %H:%M:%S").replace(tzinfo=UTC)
    except Exception:  # as above; and a camera whose clock was never set says 0000:00:00
        return None
    return int(moment.timestamp()) * 10**9


def _reduced(image: Image.Image, factor: int) -> Image.Image:
    """A large picture in RGB, ``factor`` times smaller, without a second one of its size."""
    white = _white_point(image)
    small = Image.new("RGB", (-(-image.width // factor), -(-image.height // factor)))
    for top, strip in _strips(image, factor):
        small.paste(_rgb(strip, white).reduce(factor), (0, top // factor))
    return small


def _strips(image: Image.Image, factor: int) -> Iterator[tuple[int, Image.Image]]:
    """Parts of a picture from above, of a multiple of ``factor`` rows, and where they begin."""
    rows = max(1, _STRIP // (image.width * factor)) * factor
    for top in range(0, image.height, rows):
        strip = image.crop((0, top, image.width, min(top + rows, image.height)))
        strip.info = image.info
        yield top, strip


def _white_point(image: Image.Image) -> tuple[float, float]:
    """What is black and what is white in a picture of more than 8 bits."""
    if image.mode.startswith("I;16"):
        return 0.0, 65535.0
    if image.mode not in ("I", "F"):
        return 0.0, 255.0
    low, high = math.inf, -math.inf
    for _, strip in _strips(image, 1):
        values = np.asarray(strip, dtype=np.float64)
        finite = values[np.isfinite(values)]
        if finite.size:
            low, high = min(low, finite.min()), max(high, finite.max())
    low, high = (0.0, 1.0) if low > high else (float(low), float(high))
    if low >= 0 and high <= 65535 and image.mode == "I":
        return 0.0, 255.0 if high <= 255 else 65535.0
    return low, high


def _rgb(image: Image.Image, white: tuple[float, float]) -> Image.Image:
    """A picture in RGB; on white, where it is transparent."""
    if image.mode == "CMYK":
        return _from_cmyk(image)
    if image.mode.startswith("I;16") or image.mode in ("I", "F"):
        low, high = white
        values = np.nan_to_num(np.asarray(image).astype(np.float32), nan=low, posinf=high)
        scaled = np.clip((values - low) * (255 / max(high - low, 1e-30)), 0, 255)
        return Image.fromarray(np.rint(scaled).astype(np.uint8)).convert("RGB")
    if image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def _from_cmyk(image: Image.Image) -> Image.Image:
    """Printing inks as colours on a screen: by the picture's own profile, if it has one."""
    try:
        profile = ImageCms.ImageCmsProfile(io.BytesIO(image.info["icc_profile"]))
        result = ImageCms.profileToProfile(
            image, profile, ImageCms.createProfile("sRGB"), outputMode="RGB"
        )
    except (KeyError, OSError, ImageCms.PyCMSError):
        return image.convert("RGB")
    return image.convert("RGB") if result is None else result
