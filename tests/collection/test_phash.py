from __future__ import annotations

import imagehash
import numpy as np
from making import draw
from PIL import Image, ImageEnhance

from ital.collection import pictures
from ital.collection.phash import BITS, of_thumbnail, phash


def differing(one, other):
    return (one ^ other).bit_count()


def test_it_is_the_hash_of_the_library(tmp_path):
    with Image.open(draw(tmp_path / "a.png", 1)) as image:
        assert f"{phash(image):016x}" == str(imagehash.phash(image))


def test_copies_differ_in_few_bits_and_others_in_many(tmp_path):
    hashes = []
    for seed in range(20):
        with Image.open(draw(tmp_path / f"{seed}.png", seed, (300, 200))) as image:
            hashes.append(phash(image))
            for copy in (image.resize((150, 100)), ImageEnhance.Brightness(image).enhance(0.8)):
                assert differing(phash(copy), hashes[-1]) <= 6
            assert differing(of_thumbnail(pictures.thumbnail(image)), hashes[-1]) <= 4
    apart = [differing(one, other) for one in hashes for other in hashes if one != other]
    assert BITS / 3 < np.mean(apart) < 2 * BITS / 3
