from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from ital.collection.alike import MOST_DIFFERENCE
from ital.collection.miniature import BLOCK, SIDE, difference, miniature


def encoded(image, **options):
    stream = io.BytesIO()
    image.save(stream, **({"format": "PNG"} | options))
    return stream.getvalue()


def picture(seed=0):
    coarse = np.random.default_rng(seed).integers(0, 200, (6, 8, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((256, 192), Image.Resampling.BICUBIC)


def literal(one, other):
    """The definition, block by block."""
    first, second = one - one.mean(), other - other.mean()
    a, b = max(1, first.std()), max(1, second.std())
    farthest = 0.0
    for top in range(0, SIDE, BLOCK):
        for left in range(0, SIDE, BLOCK):
            pixels = [
                max(abs(first[y, x] / a - second[y, x] / b) * (a * b) ** 0.5)
                for y in range(top, top + BLOCK)
                for x in range(left, left + BLOCK)
            ]
            farthest = max(farthest, sum(pixels) / len(pixels))
    return farthest


def test_it_is_what_it_says():
    one, other = (miniature(encoded(picture(seed))) for seed in (0, 1))
    assert difference(one, other) == pytest.approx(literal(one, other), rel=1e-5)
    assert difference(one, other) == pytest.approx(difference(other, one), rel=1e-5)


def test_copies_hardly_differ():
    image = picture()
    original = miniature(encoded(image))
    brighter = ImageEnhance.Brightness(image).enhance(1.2)
    for copy in (
        encoded(image, format="JPEG", quality=60),
        encoded(image.resize((128, 96), Image.Resampling.LANCZOS)),
        encoded(brighter),
    ):
        assert difference(original, miniature(copy)) <= MOST_DIFFERENCE


def test_a_detail_or_another_colour_differs():
    image = picture()
    original = miniature(encoded(image))
    detail = image.copy()
    detail.paste((255, 255, 255), (96, 64, 128, 96))
    red, green, blue = image.split()
    other = Image.merge("RGB", (blue, green, red))
    for one in (detail, other):
        assert difference(original, miniature(encoded(one))) > MOST_DIFFERENCE


def test_pictures_of_one_colour_are_compared_by_nothing_else():
    plain = miniature(encoded(Image.new("RGB", (40, 30), (7, 7, 7))))
    assert difference(plain, plain) == 0.0
    assert np.isfinite(difference(plain, miniature(encoded(picture()))))
