"""Pictures that show the same: one tile, one answer, unless a person says otherwise."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest
from axe import serious
from painting import paint
from PIL import Image
from playwright.sync_api import expect
from steps import all_loaded, at_rest, begin, cards, close, keep, state, wait_for_questions

from ital.collection import index


@pytest.fixture(scope="session")
def burst(tmp_path_factory):
    """Seven pictures of which the fourth is there four times, by two hues."""
    folder = tmp_path_factory.mktemp("e2e") / "burst"
    folder.mkdir()
    rng = np.random.default_rng(1)
    for number in range(7):
        paint(folder / f"{number}.jpg", ((40, 80, 200), (210, 50, 40))[number % 2], rng)
    with Image.open(folder / "3.jpg") as image:
        for quality in (60, 75, 85):
            image.save(folder / f"3-{quality}.jpg", quality=quality)
    index(folder)
    return folder


def of(page, place):
    """What stands for the stack in a place of the page."""
    return page.get_by_test_id(place).get_by_test_id("stack")


@pytest.mark.folders("burst")
def test_a_stack_is_answered_opened_selected_and_taken_as_one(open_page, server):
    page = open_page(reduced_motion="no-preference")
    begin(page, 1)
    # One of four is asked about, and its card answered for all of them.
    while not of(page, "batch").count():
        cards(page).first.get_by_test_id("no").click()
        with page.expect_response("**/answers"):
            page.get_by_test_id("send").click()
        wait_for_questions(page, [one["id"] for one in state(server, page)["batch"]])
    card = cards(page).filter(has=page.get_by_test_id("stack"))
    card.get_by_test_id("stack").click()
    dialog = page.get_by_test_id("stack-dialog")
    expect(dialog.get_by_role("heading")).to_have_text("4 pictures of the same")
    members = dialog.get_by_test_id("member")
    expect(members).to_have_count(4)
    expect(members.get_by_test_id("yes")).to_have_count(0)
    dialog.get_by_test_id("yes").click()
    expect(members.locator("[data-testid=yes][aria-pressed=true]")).to_have_count(4)
    dialog.get_by_role("button", name="Close", exact=True).click()
    expect(card.locator("[data-testid=yes][aria-pressed=true]")).to_have_count(1)
    page.get_by_test_id("send").click()
    # One tile with a count, marked for all; of the four, one gets another answer.
    results = page.get_by_test_id("results")
    results.evaluate("part => part.scrollIntoView()")
    tile = results.get_by_test_id("cell").filter(has=page.get_by_test_id("stack"))
    expect(tile).to_have_count(1)
    expect(tile.locator("[data-open]")).to_have_accessible_name(
        re.compile("one of 4 alike, marked yes")
    )
    answered = state(server, page)
    tile.get_by_test_id("stack").click()
    expect(members.get_by_test_id("no")).to_have_count(4)
    members.nth(3).get_by_test_id("no").click()
    expect(members.locator("[data-testid=yes][aria-pressed=true]")).to_have_count(3)
    expect(
        dialog.get_by_role("group", name="all of them").locator("[aria-pressed=true]")
    ).to_have_count(0)
    # Looked at closely, Back leads to the stack, and from there to the results.
    members.first.get_by_role("button", name="Look closer").click()
    expect(page.get_by_test_id("viewer")).to_be_visible()
    page.go_back()
    expect(page.get_by_test_id("viewer")).to_have_count(0)
    expect(dialog).to_be_visible()
    keep(page, "stack-opened")
    close(page, dialog)
    assert state(server, page)["irrelevant"] == answered["irrelevant"] + 1
    # Selected and marked it is one again, in one step that can be taken back.
    tile.locator("[data-open]").click(modifiers=["ControlOrMeta"])
    expect(page.get_by_test_id("selected")).to_have_text("1 selected4 pictures")
    page.get_by_test_id("selection").get_by_test_id("unsure").click()
    tile.get_by_test_id("stack").click()
    expect(members.locator("[data-testid=unsure][aria-pressed=true]")).to_have_count(4)
    close(page, dialog)
    page.get_by_test_id("undo").click()
    expect(page.get_by_text("Taken back.")).to_be_attached()
    # The results that follow move the tile.
    expect(tile.locator("[data-open]")).to_have_accessible_name(re.compile("marked yes"))
    tile.get_by_test_id("stack").click()
    expect(members.locator("[data-testid=yes][aria-pressed=true]")).to_have_count(3)
    close(page, dialog)
    # Taken whole, or its best alone.
    taken = {}
    for choice in ("All of them", "The best alone"):
        page.get_by_test_id("export").click()
        page.get_by_label("How many of the best").fill("7")
        page.get_by_label(choice).check()
        with page.expect_download() as download:
            page.get_by_role("link", name="CSV").click()
        rows = csv.DictReader(io.StringIO(download.value.path().read_text()))
        taken[choice] = [row["path"] for row in rows]
    assert len(taken["All of them"]) == 10
    assert len(taken["The best alone"]) == 7


@pytest.mark.folders("burst")
@pytest.mark.parametrize(("scheme", "width"), [("light", 320), ("dark", 1280)])
def test_axe_finds_nothing_serious(open_page, scheme, width):
    view = {"viewport": {"width": width, "height": 740}, "color_scheme": scheme}
    page = open_page(bypass_csp=True, has_touch=width < 500, is_mobile=width < 500, **view)
    begin(page, 1)
    for card in cards(page).all():
        card.get_by_test_id("yes").click()
    expect(page.get_by_test_id("threshold")).to_be_visible()
    page.get_by_test_id("results").evaluate("part => part.scrollIntoView()")
    all_loaded(page)
    badge = of(page, "results")
    at_rest(page)
    assert serious(page) == []
    keep(page, f"stacks-{width}-{scheme}")
    badge.click()
    expect(page.get_by_test_id("member").get_by_test_id("no")).to_have_count(4)
    at_rest(page)
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    keep(page, f"stack-opened-{width}-{scheme}")
