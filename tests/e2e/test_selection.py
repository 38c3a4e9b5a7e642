"""Many pictures at once: selected in every way there is, and marked in one step."""

from __future__ import annotations

import re

import pytest
from axe import serious
from playwright.sync_api import expect
from steps import (
    all_loaded,
    all_sent,
    cards,
    close,
    keep,
    open_search,
    schemes,
    shown,
    state,
    wait_for_others,
)


def results(page):
    return page.get_by_test_id("results").locator("[data-open]")


def selected(page):
    return page.get_by_test_id("selected")


def wait_until_learnt(page):
    page.wait_for_function("() => !document.body.innerText.includes('Learning…')")


@pytest.fixture
def search(open_page, server):
    """A search with results above a threshold, and the answers that it sends."""

    def make(**options):
        page = open_search(open_page, server, rounds=1, **options)
        expect(page.get_by_test_id("threshold")).to_be_visible()
        sent = []
        page.on("request", lambda one: one.url.endswith("/answers") and sent.append(one))
        return page, sent

    return make


def test_by_mouse_and_taken_back_in_one_step(search, server):
    page, sent = search()
    before = state(server, page)
    results(page).nth(20).click(modifiers=["ControlOrMeta"])
    results(page).nth(4).click(modifiers=["ControlOrMeta"])
    results(page).nth(9).click(modifiers=["Shift"])
    expect(selected(page)).to_have_text("7 selected")
    # Where something is selected, a click selects more.
    results(page).nth(20).click()
    expect(selected(page)).to_have_text("6 selected")
    expect(results(page).nth(4)).to_have_accessible_name(re.compile(", selected$"))
    page.get_by_test_id("selection").get_by_test_id("no").click()
    expect(page.get_by_test_id("selection")).to_have_count(0)
    wait_until_learnt(page)
    now = state(server, page)
    assert len(sent) == 1
    assert now["revision"] == before["revision"] + 1
    assert now["rounds"] == before["rounds"] + 1
    page.get_by_test_id("undo").click()
    expect(page.get_by_text("Taken back.")).to_be_attached()
    after = state(server, page)
    assert [after[name] for name in ("relevant", "irrelevant", "rounds")] == [
        before[name] for name in ("relevant", "irrelevant", "rounds")
    ]


def test_by_dragging(search):
    page, sent = search(reduced_motion="no-preference")
    all_loaded(page)
    results(page).nth(2).scroll_into_view_if_needed()
    first, last = (results(page).nth(place).bounding_box() for place in (2, 6))
    page.mouse.move(first["x"] + 40, first["y"] + 40)
    page.mouse.down()
    page.mouse.move(last["x"] + 40, last["y"] + 40, steps=8)
    page.mouse.up()
    expect(selected(page)).to_have_text("5 selected")
    # The end of the movement is no click.
    expect(page.get_by_test_id("viewer")).to_have_count(0)
    close(page, selected(page))
    assert sent == []


def test_by_keys(search, server):
    page, sent = search()
    before = state(server, page)
    counted = int(page.get_by_test_id("expected").locator("dd").first.inner_text())
    page.keyboard.press("ControlOrMeta+a")
    expect(selected(page)).to_have_text(f"{counted} selected")
    close(page, selected(page))
    results(page).first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(selected(page)).to_have_text("3 selected")
    expect(page.get_by_text("3 pictures selected.")).to_be_attached()
    page.keyboard.press("y")
    expect(selected(page)).to_have_count(0)
    wait_until_learnt(page)
    # The key was for the selection, and for none of the questions.
    assert len(sent) == 1
    assert len(sent[0].post_data_json["answers"]) == 3
    assert state(server, page)["revision"] == before["revision"] + 1


def test_many_are_safe_before_they_are_learnt(search, server):
    """The page goes on, whatever becomes of the server; they are one step to take back."""
    page, sent = search()
    before, asked = state(server, page), shown(page)
    address, held = f"**/searches/{before['id']}", []
    page.route(address, lambda route: held.append(route))
    results(page).first.focus()
    page.keyboard.press("Space")
    for _ in range(29):
        page.keyboard.press("Shift+ArrowRight")
    expect(selected(page)).to_have_text("30 selected")
    page.keyboard.press("n")
    expect(page.get_by_test_id("undo")).to_have_attribute("aria-disabled", "false")
    all_sent(page)
    # They are on disk, which is all that counts; the questions stay until there are others.
    expect(page.get_by_test_id("results").get_by_text("Learning…")).to_be_visible()
    assert shown(page) == asked
    assert len(sent) == 1
    keep(page, "selection-learning")
    server.kill()
    server.start()
    for one in held:
        one.continue_()
    page.unroute(address)
    wait_until_learnt(page)
    wait_for_others(page, asked)
    now = state(server, page)
    assert now["revision"] == before["revision"] + 1
    assert now["irrelevant"] > before["irrelevant"] + 20
    page.get_by_test_id("undo").click()
    for place, identifier in enumerate(asked):
        expect(cards(page).nth(place)).to_have_attribute("data-id", identifier)
    wait_until_learnt(page)
    after = state(server, page)
    assert [after[name] for name in ("relevant", "irrelevant", "rounds")] == [
        before[name] for name in ("relevant", "irrelevant", "rounds")
    ]


def test_by_a_finger(search):
    page, _ = search(viewport={"width": 390, "height": 740}, has_touch=True, is_mobile=True)
    all_loaded(page)
    first = results(page).first
    first.scroll_into_view_if_needed()
    touch = {"pointerType": "touch", "button": 0, "buttons": 1, "clientX": 5, "clientY": 5}
    first.dispatch_event("pointerdown", touch)
    expect(selected(page)).to_have_text("1 selected")
    first.dispatch_event("pointerup", touch)
    # From then on a tap selects.
    results(page).nth(1).tap()
    expect(selected(page)).to_have_text("2 selected")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    keep(page, "selection-390")


def test_axe_finds_nothing_serious(search):
    page, _ = search(bypass_csp=True)
    page.keyboard.press("ControlOrMeta+a")
    expect(selected(page)).to_be_visible()
    all_loaded(page)
    for scheme in schemes(page):
        assert serious(page) == [], scheme
        page.get_by_test_id("results").scroll_into_view_if_needed()
        keep(page, f"selection-{scheme}")


def test_a_search_like_many(open_page, server):
    page = open_page()
    pictures = page.get_by_test_id("grid").locator("[data-open]")
    pictures.nth(1).click(modifiers=["ControlOrMeta"])
    pictures.nth(5).click(modifiers=["Shift"])
    keep(page, "selection-browse")
    page.get_by_test_id("search-selected").click()
    expect(cards(page)).to_have_count(4)
    assert state(server, page)["relevant"] == 5
