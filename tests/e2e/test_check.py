"""Checking the results: pictures drawn at random, answered in every way, left and taken up."""

from __future__ import annotations

import pytest
from axe import serious
from playwright.sync_api import expect
from serving import web
from steps import (
    answer_round,
    cards,
    is_blue,
    keep,
    open_search,
    schemes,
    shown,
    state,
    wait_for_others,
)


def found(server, page) -> dict:
    """What the API says of the audit."""
    search = page.url.rpartition("/")[2]
    return web.get(f"{server.url}/api/v1/searches/{search}/audit").json()


@pytest.fixture
def check(open_page, server):
    """A check of the results that has begun."""

    def make(planned=24, **options):
        page = open_search(open_page, server, rounds=1, **options)
        expect(page.get_by_test_id("check")).to_be_visible()
        page.get_by_test_id("check").click()
        page.get_by_test_id("check-dialog").get_by_role("radio", name=str(planned)).check()
        page.get_by_test_id("check-begin").click()
        expect(cards(page)).to_have_count(12)
        return page

    return make


def answer_by_keys(page, count):
    """Say of so many whether they are blue."""
    for card in cards(page).all()[:count]:
        page.keyboard.press("y" if is_blue(card) else "n")


def test_from_begin_to_end(check, server):
    page = check()
    first = shown(page)
    expect(page.get_by_test_id("sentence")).to_contain_text("drawn at random")
    expect(page.get_by_test_id("undo")).to_have_attribute("aria-disabled", "true")
    answer_round(page)
    told = found(server, page)
    assert (told["answers"], told["planned"]) == (12, 24)
    expect(page.get_by_test_id("sentence")).to_have_text(told["sentence"])
    expect(page.get_by_test_id("check-advice")).to_have_text(told["advice"])
    expect(page.get_by_test_id("check-progress")).to_have_text("12 of 24")
    blue = sum(one["id"] <= 40 for one in told["said"])
    assert state(server, page)["relevant"] >= blue, "the search has learnt"
    # Answers on the cards are taken back one by one, those that were sent at once, and done again.
    answer_by_keys(page, 2)
    expect(page.get_by_test_id("check-progress")).to_have_text("14 of 24")
    page.keyboard.press("Backspace")
    page.keyboard.press("ControlOrMeta+z")
    expect(page.get_by_test_id("check-progress")).to_have_text("12 of 24")
    page.keyboard.press("ControlOrMeta+z")
    expect(page.get_by_test_id("check-progress")).to_have_text("0 of 24")
    assert shown(page) == first
    page.get_by_test_id("redo").click()
    expect(page.get_by_test_id("sentence")).to_have_text(told["sentence"])
    # It goes on where it was, with what was not sent, after a reload and with another server.
    before = shown(page)
    answer_by_keys(page, 3)
    server.kill()
    server.start()
    page.reload()
    expect(page.get_by_test_id("check-progress")).to_have_text("15 of 24")
    assert shown(page) == before
    page.get_by_test_id("check-leave").click()
    expect(page.get_by_test_id("checked")).to_have_text(told["sentence"])
    advice = web.get(f"{server.url}/api/v1/searches/{state(server, page)['id']}/advice").json()
    expect(page.get_by_test_id("advice")).to_contain_text(advice["advice"]["sentence"])
    page.get_by_test_id("check-go-on").click()
    expect(cards(page)).to_have_count(12)
    # Looked at closely, they are answered by the same keys.
    cards(page).nth(3).get_by_role("button", name="Look closer").click()
    viewer = page.get_by_test_id("viewer")
    for place in range(3, 12):
        expect(viewer).to_contain_text(f"{place + 1} of 12")
        page.keyboard.press("y" if int(before[place]) <= 40 else "n")
    expect(page.get_by_text("You have looked at all 24")).to_be_visible()
    told = found(server, page)
    blue = {one["id"]: one["id"] <= 40 for one in told["said"]}
    assert {one["id"]: one["label"] == "yes" for one in told["said"]} == blue
    page.get_by_test_id("check-beyond").click()
    expect(cards(page)).to_have_count(12)
    page.get_by_test_id("check-end").click()
    page.get_by_test_id("check-end-now").click()
    expect(page.get_by_test_id("check")).to_be_visible()
    after = state(server, page)
    assert not after["audit"]
    assert after["rounds"] == 3, "what was said stays"


def test_on_all_screens(check):
    page = check(bypass_csp=True, has_touch=True)

    def look(name=None):
        """By axe, and by people afterwards."""
        for scheme in schemes(page):
            assert serious(page) == [], scheme
            if name:
                keep(page, f"{name}-{scheme}")

    for width in (320, 390, 820, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(60)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    look()
    before = shown(page)
    for card in cards(page).all():
        card.get_by_test_id("yes" if is_blue(card) else "no").tap()
    wait_for_others(page, before)
    look("check")
    page.set_viewport_size({"width": 320, "height": 740})
    page.reload()
    expect(cards(page).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    for scheme in schemes(page):
        keep(page, f"check-320-{scheme}")
    page.get_by_test_id("check-leave").click()
    expect(page.get_by_test_id("checked")).to_contain_text("you would take")
    expect(page.get_by_test_id("advice")).to_contain_text("Should I go on?")
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.get_by_test_id("check-bar").scroll_into_view_if_needed()
        page.wait_for_timeout(60)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for scheme in schemes(page):
            keep(page, f"checked-{width}-{scheme}")
    look()
    page.get_by_test_id("check-again").click()
    expect(page.get_by_test_id("check-dialog")).to_be_visible()
    look("check-dialog")
