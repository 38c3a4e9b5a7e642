from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ital
from generators import seeds
from ital.pool import Pool

FEATURES = np.random.default_rng(0).normal(size=(60, 5))
TRUTH = FEATURES[:, 0] > 0.3


def searched(features=FEATURES, **options) -> ital.Search:
    search = ital.Search(features, seed=0, **options)
    search.query(relevant=[3], irrelevant=[9, 20])
    search.answer({5: True, 7: None})
    return search


@pytest.fixture
def search():
    return searched()


def told(images) -> dict[int, bool]:
    return {int(one): bool(TRUTH[one]) for one in images}


def test_strata_are_of_what_has_no_label(search):
    results = search.results()
    taken = set(results.ids[results.probabilities >= 0.4].tolist())
    audit = search.audit(0.4)
    above, near, far = (set(one.rows.tolist()) for one in audit.strata)
    assert above == taken - set(search.labels)
    assert above | near | far == set(range(60)) - set(search.labels)
    assert len(above) + len(near) + len(far) == 60 - len(search.labels)
    report = audit.report()
    assert report.taken == len(taken)
    assert report.above.known == sum(search.labels.get(one) is True for one in taken)
    assert report.below.known == 2 - report.above.known
    assert report.answers == 0


@settings(max_examples=25)
@given(st.sampled_from([0.0, 0.2, 0.4, 0.9, 1.0]), st.integers(1, 70), seeds)
def test_intervals_end_at_the_truth(threshold, count, seed):
    """Whatever is taken: when all has been looked at, they are the truth, and never far from it."""
    search = searched()
    audit = search.audit(threshold, seed)
    truth = {i: bool(TRUTH[i]) for i in range(60)} | {
        3: True,
        9: False,
        20: False,
        5: True,
        7: False,
    }
    ranked = [truth[one] for one in search.results().ids.tolist()]
    taken = search.ranking().above(threshold)
    looked = []
    while len(images := audit.ask(count)):
        looked += images.tolist()
        audit.answer(told(images), teach=False)
        report = audit.report(0.999)
        assert report.answers == len(looked)
        assert report.right.low <= report.right.value <= report.right.high
    assert sorted(looked) == sorted(set(range(60)) - set(search.labels))
    assert report.right.low == report.right.high == sum(ranked[:taken])
    assert report.missed.low == report.missed.high == sum(ranked[taken:])
    assert report.recall.value == pytest.approx(sum(ranked[:taken]) / sum(ranked))


def test_one_image():
    search = ital.Search(np.ones((1, 2)), seed=0)
    search.query(relevant=[np.ones(2)])
    audit = search.audit(0.0)
    assert (
        audit.report().sentence == "The one you would take is right or wrong; you would miss none."
    )
    audit.answer({0: False}) if audit.ask(3).tolist() == [0] else pytest.fail("there is one")
    assert audit.report().sentence == "The one you would take is wrong; you would miss none."


def test_everything_is_labelled(search):
    search.answer(told(i for i in range(60) if i not in search.labels))
    audit = search.audit(0.5)
    assert audit.ask(4).tolist() == []
    report = audit.report()
    assert report.precision.width == report.missed.width == report.recall.width == 0
    assert report.right.value + report.missed.value == sum(
        search.labels[i] is True for i in range(60)
    )


def test_the_seed_decides_and_nothing_else(search):
    first, second, other = search.audit(0.4, 1), search.audit(0.4, 1), search.audit(0.4, 2)
    asked = first.ask(30).tolist()
    assert asked != other.ask(30).tolist()
    one_by_one = []
    for _ in range(30):
        (image,) = second.ask(1).tolist()
        second.answer({image: bool(len(one_by_one) % 2)}, teach=False)
        one_by_one.append(image)
    assert one_by_one == asked


def test_asked_again_it_says_the_same_until_something_is_answered(search):
    audit = search.audit(0.4)
    four = audit.ask(4).tolist()
    assert audit.ask(4).tolist() == four
    assert audit.ask(2).tolist() == four[:2]
    audit.answer({four[1]: True, four[2]: None})
    assert audit.ask(3).tolist()[:2] == [four[0], four[3]]
    assert audit.answers == {four[1]: True, four[2]: None}


def test_answers_count_in_the_order_of_draws(search):
    """Whoever answers only what is easy learns nothing from that."""
    audit = search.audit(0.4)
    images = audit.ask(9).tolist()
    audit.answer(told(images[3:]))
    assert audit.report().answers == 0
    audit.answer(told(images[:1]))
    assert audit.report().answers == 3
    audit.answer(told(images[1:3]))
    assert audit.report().answers == 9


def test_what_is_taken_back_is_asked_again(search):
    audit, other = (search.audit(0.4) for _ in range(2))
    first = audit.ask(9).tolist()
    audit.answer(told(first[:6]))
    before = audit.report()
    audit.answer(told(audit.ask(9)))
    audit.retract([*(set(audit.answers) - set(first[:6])), 1])
    assert (set(audit.answers), audit.report()) == (set(first[:6]), before)
    other.ask(9)
    other.answer(told(first[:6]))
    assert audit.ask(9).tolist() == other.ask(9).tolist()


def test_answers_can_be_corrected_and_left_open(search):
    audit = search.audit(0.4)
    images = audit.ask(3).tolist()
    audit.answer(dict.fromkeys(images, True))
    found = audit.report()
    assert [one.hits for one in (*found.above.strata, *found.below.strata)] == [1, 1, 1]
    audit.answer({images[0]: False, images[1]: None})
    found = audit.report()
    assert [one.hits for one in (*found.above.strata, *found.below.strata)] == [0, 0, 1]
    assert (found.unsure, found.answers) == (1, 3)
    assert search.labels[images[0]] is False


def test_the_search_learns_and_the_audit_stays_what_it_was(search):
    audit = search.audit(0.4)
    rows = [one.rows.copy() for one in audit.strata]
    images = audit.ask(6)
    audit.answer(told(images))
    assert told(images).items() <= search.labels.items()
    assert all((one.rows == before).all() for one, before in zip(audit.strata, rows, strict=True))
    before = audit.report()
    search.undo()
    assert not set(images.tolist()) & set(search.labels)
    assert audit.report() == before
    audit.answer(told(audit.ask(3)), teach=False)
    assert len(audit.answers) == 9
    assert len(search.labels) == 5


def test_a_search_that_is_not_to_learn(search):
    before = search.labels
    audit = search.audit(0.4, teach=False)
    audit.answer(told(audit.ask(6)))
    assert len(audit.answers) == 6
    assert search.labels == before


@pytest.mark.parametrize(
    ("answers", "error", "match"),
    [
        ([3], TypeError, "answers must be a mapping"),
        ({60: True}, IndexError, "image must be an index from 0 to 59, got 60"),
        (
            {3: True},
            ValueError,
            "answers must be about images that the audit has asked about, got 3",
        ),
        ({"asked": "maybe"}, ValueError, "must be yes, no or unsure"),
    ],
)
def test_wrong_answers_change_nothing(search, answers, error, match):
    audit = search.audit(0.4)
    first, second = audit.ask(2).tolist()
    if "asked" in answers:
        answers = {first: True, second: answers["asked"]}
    with pytest.raises(error, match=match):
        audit.answer(answers)
    assert audit.answers == {}
    assert first not in search.labels


def test_what_the_search_refuses_is_not_counted(search):
    audit = search.audit(0.4)
    image = int(audit.ask(1)[0])
    for _ in search.events:
        search.undo()
    with pytest.raises(RuntimeError, match="answer needs a query first"):
        audit.answer({image: True})
    assert audit.answers == {}
    audit.answer({})
    audit.answer({image: True}, teach=False)
    assert audit.answers == {image: True}


def test_arguments(search):
    with pytest.raises(ValueError, match="threshold must be a probability from 0 to 1, got 2"):
        search.audit(2)
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0, got -1"):
        search.audit(0.5, -1)
    with pytest.raises(RuntimeError, match="audit needs a query first"):
        ital.Search(FEATURES).audit(0.5)
    audit = search.audit(0.5)
    with pytest.raises(ValueError, match="count must be a whole number of at least 1, got 0"):
        audit.ask(0)
    for level in (0.4, 1.0):
        with pytest.raises(ValueError, match=r"level must be a number from 0\.5 to 0\.999"):
            audit.report(level)


def test_images_have_the_names_of_their_pool(search):
    names = np.arange(60) * 7 + 3
    named = ital.Search(Pool(FEATURES, ids=names), seed=0)
    named.query(relevant=[names[3]], irrelevant=names[[9, 20]].tolist())
    named.answer({names[5]: True, names[7]: None})
    audit, plain = named.audit(0.4), search.audit(0.4)
    asked = audit.ask(12)
    assert asked.tolist() == names[plain.ask(12)].tolist()
    audit.answer({int(one): True for one in asked})
    assert isinstance(audit, ital.Audit)
    assert all(named.labels[one] for one in asked.tolist())


def test_threads_take_turns(search):
    audit = search.audit(0.4)

    def look(_: int) -> None:
        audit.answer(told(audit.ask(2)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(look, range(12)))
    assert audit.report().answers == len(audit.answers) <= 24
