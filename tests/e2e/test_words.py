"""Searches that begin with words, typed on the page."""

from __future__ import annotations

import pytest
from axe import serious
from playwright.sync_api import expect
from steps import cards, close, keep, schemes, shown, state, wait_for_others


def best(page, count=12) -> list[str]:
    """What is drawn in the first results, by the names of the files."""
    cells = page.get_by_test_id("results").get_by_test_id("cell").locator("[data-open]")
    page.wait_for_function(
        """count => document.querySelectorAll(
            '[data-testid=results] [data-testid=cell] [data-open]').length >= count""",
        arg=count,
    )
    names = [cell.get_attribute("title") for cell in cells.all()[:count]]
    return [name.rpartition(" ")[0] for name in names]


@pytest.mark.folders("shapes")
def test_words_find_red_circles(open_page, server):
    """From words alone to questions and results, and they outlast a restart and all undoing."""
    page = open_page()
    box = page.get_by_test_id("words-box")
    expect(page.get_by_test_id("search-words")).to_have_attribute("aria-disabled", "true")
    box.fill("a red circle, not a square")
    keep(page, "words-typed")
    box.press("Enter")
    expect(cards(page)).to_have_count(4)
    expect(page.get_by_test_id("words")).to_contain_text("a red circle, not a square")
    assert set(best(page)) == {"red circle"}
    keep(page, "words-begun")
    page.get_by_test_id("results").get_by_test_id("cell").first.hover()
    page.get_by_role("button", name="Why is this here").first.click()
    expect(page.get_by_test_id("why-words")).to_contain_text("100")
    keep(page, "words-why")
    close(page, page.get_by_test_id("why"))

    before = shown(page)
    names = {str(one["id"]): one["name"] for one in state(server, page)["batch"]}
    for identifier in before:
        said = "yes" if names[identifier].startswith("red circle") else "no"
        page.locator(f"[data-testid=card][data-id='{identifier}']").get_by_test_id(said).click()
    wait_for_others(page, before)
    page.get_by_test_id("undo").click()
    expect(page.get_by_test_id("undo")).to_have_attribute("aria-disabled", "true")
    expect(page.locator(f"[data-testid=card][data-id='{before[0]}']")).to_be_visible()
    assert shown(page) == before
    page.get_by_test_id("history").click()
    expect(page.get_by_test_id("history-panel")).to_contain_text("a red circle, not a square")
    server.kill()
    server.start()
    page.reload()
    expect(page.get_by_test_id("words")).to_contain_text("a red circle, not a square")
    assert set(best(page)) == {"red circle"}
    page.goto(f"{server.url}/#/searches")
    expect(page.get_by_role("link", name="Open a red circle, not a square")).to_be_visible()
    keep(page, "words-searches")


@pytest.mark.folders("shapes")
def test_words_and_pictures_on_a_phone(open_page, server):
    page = open_page(viewport={"width": 390, "height": 740}, has_touch=True, bypass_csp=True)
    circle = page.locator("[data-testid=cell][data-id='3']")
    circle.get_by_test_id("yes").tap()
    page.get_by_test_id("words-box").fill("blue")
    expect(page.get_by_text("with the 1 picture that you marked")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for scheme in schemes(page):
        keep(page, f"words-390-{scheme}")
        assert serious(page) == [], scheme
    page.get_by_test_id("search-examples").tap()
    expect(page.get_by_test_id("words")).to_contain_text("blue")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    begun = state(server, page)
    assert (begun["text"], begun["relevant"]) == ("blue", 1)
    for scheme in schemes(page):
        assert serious(page) == [], scheme
        keep(page, f"words-390-begun-{scheme}")


def test_without_words(open_page):
    """Where the model knows none, the page says so and has no box."""
    page = open_page()
    expect(page.get_by_text("Words need a model that knows them")).to_be_visible()
    expect(page.get_by_test_id("words-box")).to_have_count(0)
