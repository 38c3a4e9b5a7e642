"""Results in another order, and only some of them."""

from __future__ import annotations

import pytest
from axe import serious
from playwright.sync_api import expect
from steps import keep, open_search, schemes


def names(page) -> list[str]:
    cells = page.get_by_test_id("results").get_by_test_id("cell").locator("[data-open]").all()
    return [cell.get_attribute("title") for cell in cells]


@pytest.fixture
def results(open_page, server):
    """A page with results above a threshold."""

    def make(**options):
        page = open_search(open_page, server, rounds=2, **options)
        expect(page.get_by_test_id("sort")).to_be_visible()
        return page

    return make


def test_by_name(results):
    page = results()
    page.get_by_test_id("sort").select_option("name")
    # As many as the page counts above the threshold, once results and count are of the same round.
    page.wait_for_function(
        """() => {
            const above = document.querySelector('[data-testid=expected] dd').innerText;
            const list = document.querySelector('[data-testid=results] [role=list]');
            return list.ariaLabel === `Results, by name: ${above} pictures`;
        }"""
    )
    page.wait_for_function(
        "() => [...document.querySelectorAll('[data-testid=results] [data-testid=cell]')]"
        ".every(cell => cell.dataset.id)"
    )
    found = names(page)
    assert found == sorted(found)
    page.get_by_test_id("sort").select_option("probability")
    expect(page.get_by_role("list", name="Results, the best first: 120 pictures")).to_be_visible()


def test_a_filter_that_leaves_nothing_and_is_lifted(results):
    page = results()
    page.get_by_test_id("filter").click()
    page.get_by_label("Taken from").fill("1999-01-01")
    page.get_by_label("to", exact=True).fill("1999-12-31")
    page.get_by_label("to", exact=True).blur()
    expect(page.get_by_text("Nothing above the threshold")).to_be_visible()
    keep(page, "filter")
    expect(page.get_by_test_id("filter")).to_have_attribute("aria-label", "Filter, in use")
    page.get_by_role("button", name="Show all").last.click()
    expect(page.get_by_role("list", name="Results, the best first: 120 pictures")).to_be_visible()


def test_axe_finds_nothing_serious(results):
    page = results(bypass_csp=True)
    page.get_by_test_id("filter").click()
    expect(page.get_by_label("Folder")).to_be_visible()
    for scheme in schemes(page):
        assert serious(page) == [], scheme
        keep(page, f"filter-{scheme}")


def test_on_a_phone(results):
    page = results(viewport={"width": 390, "height": 740}, has_touch=True, is_mobile=True)
    page.get_by_test_id("filter").tap()
    box = page.get_by_label("Folder").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    keep(page, "filter-390")
