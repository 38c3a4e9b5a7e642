from __future__ import annotations

import io
import struct
import warnings
from datetime import UTC, datetime

import numpy as np
import pillow_heif
import pytest
from making import bomb, draw
from PIL import Image, ImageCms
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from ital.collection import pictures
from ital.collection.pictures import UnreadableError, decode, from_image, quietly, thumbnail

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def quarters(size=64) -> Image.Image:
    """Red and green above, blue and white below."""
    image = Image.new("RGB", (size, size))
    half = size // 2
    for colour, place in zip((RED, GREEN, BLUE, WHITE), np.ndindex(2, 2), strict=True):
        image.paste(
            colour, (place[1] * half, place[0] * half, *((p + 1) * half for p in place[::-1]))
        )
    return image


def saved(image: Image.Image, kind: str, **options) -> io.BytesIO:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return io.BytesIO(stream.getvalue())


def corners(image: Image.Image) -> list[tuple]:
    """Colours in the middle of each quarter, in the order of reading."""
    w, h = image.size
    return [image.getpixel((x, y)) for y in (h // 4, 3 * h // 4) for x in (w // 4, 3 * w // 4)]


def assert_quarters(image: Image.Image, wanted=(RED, GREEN, BLUE, WHITE), tolerance=12) -> None:
    assert image.mode == "RGB"
    np.testing.assert_allclose(corners(image), wanted, atol=tolerance)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("JPEG", {"quality": 95}),
        ("JPEG", {"quality": 95, "progressive": True}),
        ("PNG", {}),
        ("WEBP", {"lossless": True}),
        ("GIF", {}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
        ("BMP", {}),
        ("AVIF", {"quality": 95}),
    ],
)
def test_formats(kind, options):
    picture = decode(saved(quarters(), kind, **options))
    assert_quarters(picture.image)
    assert (picture.width, picture.height) == (64, 64)


def test_heic():
    stream = io.BytesIO()
    pillow_heif.from_pillow(quarters()).save(stream, quality=95)
    assert_quarters(decode(io.BytesIO(stream.getvalue())).image)


@pytest.mark.parametrize("kind", ["GIF", "TIFF", "WEBP"])
def test_the_first_frame_counts(kind):
    others = [Image.new("RGB", (64, 64), colour) for colour in ("red", "blue")]
    stream = saved(quarters(), kind, save_all=True, append_images=others)
    assert_quarters(decode(stream).image, tolerance=16)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_pictures_stand_upright(orientation):
    undo = {6: 90, 3: 180, 8: 270}  # the camera was turned, so the picture lies
    image = quarters().resize((96, 64))
    stored = {
        1: image,
        2: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
        4: image.transpose(Image.Transpose.FLIP_TOP_BOTTOM),
        5: image.transpose(Image.Transpose.TRANSPOSE),
        7: image.transpose(Image.Transpose.TRANSVERSE),
    }.get(orientation) or image.rotate(undo[orientation], expand=True)
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = decode(saved(stored, "JPEG", quality=95, exif=exif))
    assert_quarters(picture.image)
    assert (picture.width, picture.height) == picture.image.size == (96, 64)


@pytest.mark.parametrize("kind", ["TIFF", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", [3, 6])
def test_other_formats_are_turned_once(kind, orientation):
    """Pillow turns TIFF files by itself, and no others."""
    image = quarters().resize((96, 64))
    exif = Image.Exif()
    exif[0x0112] = orientation
    lying = image.rotate({3: 180, 6: 90}[orientation], expand=True)
    picture = decode(saved(lying, kind, exif=exif))
    assert_quarters(picture.image, tolerance=30)
    assert (picture.width, picture.height) == picture.image.size == (96, 64)


def test_a_disk_that_fails_is_not_a_picture_that_is_broken():
    class Disk(io.BytesIO):
        def read(self, *arguments):
            if self.tell() > 500:
                raise OSError(5, "Input/output error")
            return super().read(*arguments)

    content = saved(Image.effect_noise((128, 128), 60), "PNG").getvalue()
    with pytest.raises(OSError, match="Input/output error") as caught:
        decode(Disk(content))
    assert caught.value.errno == 5


def test_when_it_was_taken():
    exif = Image.Exif()
    exif[0x0132] = "2024:05:06 07:08:09"
    wanted = int(datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC).timestamp()) * 10**9
    assert decode(saved(quarters(), "JPEG", exif=exif)).taken == wanted
    exif.get_ifd(0x8769)[0x9003] = "2020:01:01 00:00:00"
    wanted = int(datetime(2020, 1, 1, tzinfo=UTC).timestamp()) * 10**9
    assert decode(saved(quarters(), "JPEG", exif=exif)).taken == wanted


@pytest.mark.parametrize("said", ["0000:00:00 00:00:00", "    :  :     :  :  ", "yesterday"])
def test_a_camera_without_a_clock(said):
    exif = Image.Exif()
    exif[0x0132] = said
    assert decode(saved(quarters(), "JPEG", exif=exif)).taken is None
    assert decode(saved(quarters(), "PNG")).taken is None


@pytest.mark.parametrize("exif", [b"Exif\x00\x00nonsense", b"Exif\x00\x00II*\x00\xff\xff\xff\xff"])
def test_broken_exif_does_no_harm(exif):
    with pictures.quietly():
        assert_quarters(decode(saved(quarters(), "JPEG", quality=95, exif=exif)).image)


def test_transparency_is_white():
    image = quarters().convert("RGBA")
    image.putalpha(Image.new("L", image.size, 0))
    assert_quarters(decode(saved(image, "PNG")).image, [WHITE] * 4)
    image.putalpha(128)
    mixed = [(255, 127, 127), (127, 255, 127), (127, 127, 255), WHITE]
    assert_quarters(decode(saved(image, "PNG")).image, mixed, tolerance=2)
    palette = quarters().quantize(8)
    red = palette.getpixel((0, 0))
    assert_quarters(
        decode(saved(palette, "PNG", transparency=red)).image, [WHITE, GREEN, BLUE, WHITE]
    )
    assert_quarters(
        decode(saved(palette, "GIF", transparency=red)).image, [WHITE, GREEN, BLUE, WHITE]
    )
    assert_quarters(
        decode(saved(quarters(), "PNG", transparency=RED)).image, [WHITE, GREEN, BLUE, WHITE]
    )
    grey = Image.merge("LA", [Image.new("L", (8, 8), 0), Image.new("L", (8, 8), 51)])
    assert_quarters(decode(saved(grey, "PNG")).image, [(204,) * 3] * 4, tolerance=1)


def test_grey_palette_and_two_colours():
    grey = quarters().convert("L")
    values = [(76,) * 3, (150,) * 3, (29,) * 3, WHITE]
    assert_quarters(decode(saved(grey, "PNG")).image, values, tolerance=1)
    assert_quarters(decode(saved(quarters().quantize(4), "PNG")).image)
    assert_quarters(
        decode(saved(grey.point(lambda v: 255 * (v > 100), "1"), "PNG")).image,
        [(0,) * 3, WHITE, (0,) * 3, WHITE],
    )


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits(kind):
    ramp = (np.arange(64 * 64).reshape(64, 64) * 16).astype(np.uint16)
    found = np.asarray(decode(saved(Image.fromarray(ramp), kind)).image)
    np.testing.assert_allclose(found, np.repeat(ramp[..., None] / 257, 3, axis=2), atol=0.51)


def test_numbers_of_32_bits():
    ramp = np.linspace(-3, 5, 64 * 64, dtype=np.float32).reshape(64, 64)
    found = np.asarray(decode(saved(Image.fromarray(ramp), "TIFF")).image)[..., 0]
    np.testing.assert_allclose(found, (ramp + 3) / 8 * 255, atol=0.51)
    ramp[0, 0] = np.nan
    assert decode(saved(Image.fromarray(ramp), "TIFF")).image.getpixel((0, 0)) == (0, 0, 0)
    wide = np.full((8, 8), 257 * 100, dtype=np.int32)
    assert_quarters(
        decode(saved(Image.fromarray(wide), "TIFF")).image, [(100,) * 3] * 4, tolerance=0
    )


def test_printing_inks():
    inks = quarters().convert("CMYK")
    assert_quarters(decode(saved(inks, "JPEG", quality=100)).image, tolerance=20)
    assert_quarters(decode(saved(inks, "TIFF")).image, tolerance=5)
    broken = saved(inks, "TIFF", icc_profile=b"nonsense")
    assert_quarters(decode(broken).image, tolerance=5)


def test_a_profile_that_is_not_of_inks_is_left_aside():
    """A profile for RGB is none for inks: it must be left aside, not believed."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert_quarters(
        decode(saved(quarters().convert("CMYK"), "TIFF", icc_profile=profile)).image, tolerance=5
    )


def test_jpegs_are_scaled_while_they_are_decoded():
    large = quarters(1024)
    picture = decode(saved(large, "JPEG", quality=95), least=256)
    assert picture.image.size == (256, 256)
    assert (picture.width, picture.height) == (1024, 1024)
    assert_quarters(picture.image)
    assert decode(saved(large, "JPEG"), least=300).image.size == (512, 512)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "CMYK", "I;16"])
def test_large_pictures_come_in_strips(mode, monkeypatch):
    """Strips give what the whole would have given."""
    monkeypatch.setattr(pictures, "_LARGE", 1000)
    monkeypatch.setattr(pictures, "_STRIP", 3000)
    image = draw_in(mode, (300, 220))
    stream = saved(image, "TIFF" if mode == "CMYK" else "PNG")
    picture = decode(stream, least=50)
    assert (picture.width, picture.height) == (300, 220)
    monkeypatch.setattr(pictures, "_LARGE", 10**9)
    stream.seek(0)
    whole = decode(stream, least=50).image.reduce(4)
    assert picture.image.size == whole.size == (75, 55)
    np.testing.assert_allclose(np.asarray(picture.image, float), np.asarray(whole), atol=1.01)


def draw_in(mode: str, size: tuple[int, int]) -> Image.Image:
    image = quarters().resize(size, Image.Resampling.BICUBIC)
    if mode == "I;16":
        return Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)
    if mode == "RGBA":
        image.putalpha(Image.linear_gradient("L").resize(size))
        return image
    return image.quantize(32) if mode == "P" else image.convert(mode)


@pytest.mark.parametrize("size", [(1, 1), (1, 5000), (5000, 1), (2, 3)])
def test_odd_shapes(size):
    picture = decode(saved(Image.new("RGB", size, "red"), "PNG"))
    assert (picture.width, picture.height) == size
    with Image.open(io.BytesIO(thumbnail(picture.image))) as small:
        assert max(small.size) == min(256, max(size))


def test_thumbnails(tmp_path):
    path = draw(tmp_path / "a.png", 0, (600, 300))
    picture = decode(io.BytesIO(path.read_bytes()))
    with Image.open(io.BytesIO(thumbnail(picture.image))) as small:
        assert small.format == "JPEG"
        assert small.size == (256, 128)
        wanted = picture.image.resize((256, 128))
        difference = np.abs(np.asarray(small, float) - np.asarray(wanted))
    assert difference.mean() < 4


def test_images_of_others_are_left_alone():
    image = quarters().convert("RGBA")
    assert_quarters(from_image(image).image)
    assert image.mode == "RGBA"


def test_what_is_too_large_is_not_decoded():
    for width, height in ((60_000, 60_000), (25_000, 16_000)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(UnreadableError, match="250 megapixels"):
                decode(io.BytesIO(bomb(width, height)))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "AVIF"])
def test_what_is_cut_short_is_unreadable(kind):
    """Wherever a file ends too early there is a reason, never another exception."""
    image = Image.effect_noise((96, 96), 60).convert("RGB")
    whole = saved(image, kind).getvalue()
    for part in (0.02, 0.1, 0.5, 0.9):
        with pytest.raises(UnreadableError), pictures.quietly():
            decode(io.BytesIO(whole[: int(len(whole) * part)]))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "AVIF"])
def test_bytes_that_changed_do_no_harm(kind):
    """A picture comes out of it, or a reason."""
    whole = saved(Image.effect_noise((64, 64), 60).convert("RGB"), kind).getvalue()
    rng = np.random.default_rng(0)
    outcomes = set()
    for _ in range(60):
        broken = np.frombuffer(whole, np.uint8).copy()
        places = rng.integers(0, len(broken), 6)
        broken[places] = rng.integers(0, 256, 6)
        with pictures.quietly():
            try:
                outcomes.add(decode(io.BytesIO(broken.tobytes())).image.mode)
            except UnreadableError as error:
                outcomes.add("unreadable" if str(error) else "unreadable for no reason")
    assert outcomes <= {"RGB", "unreadable"}


def test_what_is_no_picture():
    for content in (b"hello", b"\x80\x04K\x01.", b"%PDF-1.7", b"\x89PNG\r\n\x1a\n"):
        with pytest.raises(UnreadableError):
            decode(io.BytesIO(content))


def test_a_tiff_that_promises_too_much():
    """A header of many pixels with nothing behind it."""
    directory = ImageFileDirectory_v2()
    for tag, value in {256: 15_000, 257: 15_000, 258: 8, 262: 1, 273: 8, 279: 9}.items():
        directory[tag] = value
    content = b"II*\x00" + struct.pack("<I", 8) + directory.tobytes(8)
    with pytest.raises(UnreadableError), pictures.quietly():
        decode(io.BytesIO(content))


def test_quiet_in_many_threads():
    """Whoever leaves last puts the filters back."""
    before = list(warnings.filters)
    first, second = quietly(), quietly()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    warnings.warn("an oddity of a file", stacklevel=1)  # which would be an error here
    second.__exit__(None, None, None)
    assert warnings.filters == before
