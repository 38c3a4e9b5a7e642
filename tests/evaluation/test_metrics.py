from __future__ import annotations

import pytest

from ital.evaluation import area_under_curve, average_precision, published_area


def test_average_precision_by_hand():
    """Relevant at ranks 1 and 3: (1/1 + 2/3) / 2."""
    assert average_precision([True, False, True, False], [4, 3, 2, 1]) == pytest.approx(5 / 6)


def test_areas_by_hand():
    curve = [0.0, 0.5, 1.0]
    assert area_under_curve(curve) == pytest.approx((0.25 + 0.75) / 2)
    assert published_area(curve) == pytest.approx((0.25 + 0.75) / 3)
    assert area_under_curve([1.0] * 11) == 1.0
    assert published_area([1.0] * 11) == pytest.approx(10 / 11)
