"""Every registered strategy keeps the contract, by being in the list."""

from __future__ import annotations

import numpy as np
import pytest
from contract import CHECKS
from hypothesis import given, settings

from generators import problems
from ital import Search, strategies

VARIANTS = [
    ("ital", {"posterior": "exact"}),
    ("border_div", {"weight": np.float32(0.25)}),
    ("sud", {"neighbours": np.int32(3)}),
    ("tcal", {"factor": np.int64(2)}),
    ("usdm", {"trade_off": np.float32(2.5), "neighbours": np.int16(3)}),
    ("adaptal", {"betas": [np.float64(0.5), 1]}),
    ("usdm", {"subsample": 8}),
    ("mcmi", {"subsample": 8}),
    ("adaptal", {"subsample": 8}),
    ("epig", {"targets": np.int16(5), "subsample": 8}),
    ("powerbald", {"beta": np.float32(2.5)}),
    ("uherding", {"subsample": 8}),
    ("gal", {"shortlist": np.int8(8)}),
    ("ens", {"shortlist": 8, "budget": np.int64(3)}),
]


PAPER = [
    "adaptal", "border", "border_div", "emoc", "entropy", "ital", "mcmi", "random", "rbmal", "sud",
    "tcal", "topscoring", "unc", "usdm", "var",
]  # fmt: skip
LATER = ["context", "ens", "epig", "gal", "maxdet", "powerbald", "uherding"]


def test_those_of_the_paper_and_later_ones():
    assert strategies.names() == sorted(PAPER + LATER)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("strategy", [*strategies.names(), *VARIANTS], ids=str)
def test_contract(strategy, check):
    check(strategy)


@pytest.mark.parametrize("name", strategies.names())
@settings(max_examples=15)
@given(problems())
def test_on_copies_and_contradicting_labels(name, problem):
    search = Search(problem.features, name, seed=0, base_rate=None, **problem.kernel)
    search.query(
        relevant=[i for i, y in problem.labels.items() if y > 0],
        irrelevant=[i for i, y in problem.labels.items() if y < 0],
    )
    batch = search.suggest(4).tolist()
    assert len(set(batch)) == min(4, len(problem.candidates))
    assert set(batch) <= set(problem.candidates)
