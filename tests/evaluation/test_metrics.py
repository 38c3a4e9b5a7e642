from __future__ import annotations

from math import log

import pytest

from ital.evaluation import area_under_curve, average_precision, published_area
from ital.evaluation.metrics import brier, log_loss


def test_average_precision_by_hand():
    """Relevant at ranks 1 and 3: (1/1 + 2/3) / 2."""
    assert average_precision([True, False, True, False], [4, 3, 2, 1]) == pytest.approx(5 / 6)


def test_areas_by_hand():
    curve = [0.0, 0.5, 1.0]
    assert area_under_curve(curve) == pytest.approx((0.25 + 0.75) / 2)
    assert published_area(curve) == pytest.approx((0.25 + 0.75) / 3)
    assert area_under_curve([1.0] * 11) == 1.0
    assert published_area([1.0] * 11) == pytest.approx(10 / 11)


def test_probabilities_by_hand():
    """Two relevant ones that were given 0.8 and 0.3, and one other that was given 0.1."""
    relevant, told = [True, True, False], [0.8, 0.3, 0.1]
    assert brier(relevant, told) == pytest.approx((0.2**2 + 0.7**2 + 0.1**2) / 3)
    assert log_loss(relevant, told) == pytest.approx(-(log(0.8) + log(0.3) + log(0.9)) / 3)


def test_sure_and_right_or_wrong():
    assert brier([True, False], [1.0, 0.0]) == 0.0
    assert log_loss([True, False], [1.0, 0.0]) == pytest.approx(0.0, abs=1e-14)
    assert brier([False, True], [1.0, 0.0]) == 1.0
    assert log_loss([False, True], [1.0, 0.0]) == pytest.approx(-log(1e-15), rel=1e-3)


def test_no_image_is_no_mistake():
    assert brier([], []) == log_loss([], []) == 0.0
