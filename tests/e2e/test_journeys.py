"""Whole journeys in a real browser, against the real server."""

from __future__ import annotations

import csv
import io

import httpx
import pytest
from playwright.sync_api import expect
from screenshots import SCREENSHOTS


def is_blue(card) -> bool:
    """The first forty pictures are blue."""
    return int(card.get_attribute("data-id")) <= 40


def cards(page):
    return page.get_by_test_id("card")


def shown(page) -> list[str]:
    return [card.get_attribute("data-id") for card in cards(page).all()]


def begin(page, picture=3):
    """A search from a picture, found in the grid and looked at."""
    page.locator(f"[data-testid=cell][data-id='{picture}']").click()
    expect(page.get_by_test_id("viewer")).to_be_visible()
    page.get_by_test_id("find-like").click()
    expect(cards(page)).to_have_count(4)


def answer_round(page):
    """Click an answer to every question, and see the next ones come."""
    before = shown(page)
    for identifier in before:
        card = page.locator(f"[data-testid=card][data-id='{identifier}']")
        card.get_by_test_id("yes" if is_blue(card) else "no").click()
    wait_for_others(page, before)


def wait_for_others(page, before):
    page.wait_for_function(
        """before => {
            const now = [...document.querySelectorAll('[data-testid=card]')];
            return now.length > 0 && !now.some(card => before.includes(card.dataset.id));
        }""",
        arg=before,
    )


def state(server, page):
    search = page.url.rpartition("/")[2]
    return httpx.get(f"{server.url}/api/v1/searches/{search}").json()


def keep(page, name):
    page.wait_for_timeout(400)  # for pictures and movements
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")


def test_from_a_picture_to_an_export(open_page, server):
    page = open_page()
    expect(page.get_by_test_id("cell").first).to_be_visible()
    keep(page, "browse")
    begin(page)
    keep(page, "answer")
    for _ in range(5):
        answer_round(page)
    expect(page.get_by_test_id("summary")).to_contain_text("match")
    results = page.get_by_test_id("results").get_by_test_id("cell")
    expect(results.first).to_be_visible()
    page.get_by_test_id("results").scroll_into_view_if_needed()
    keep(page, "results")
    best = httpx.get(f"{server.url}/api/v1/searches/{state(server, page)['id']}/results?limit=40")
    found = [one["id"] <= 40 for one in best.json()["results"]]
    assert sum(found) >= 38
    page.get_by_test_id("export").click()
    keep(page, "export")
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("link", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert rows
    assert sum(row["path"].startswith("blue") for row in rows) >= 0.9 * len(rows)


def test_a_picture_from_outside(open_page, pictures):
    page = open_page()
    page.get_by_test_id("upload").set_input_files(pictures / "green-05.jpg")
    expect(cards(page)).to_have_count(4)
    first = page.get_by_test_id("results").get_by_test_id("cell").first
    expect(first).to_have_attribute("data-id", "46")


def test_by_keyboard_alone(open_page, server):
    page = open_page()
    cell = page.get_by_test_id("cell").first
    expect(cell).to_be_visible()
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("!!document.activeElement?.closest('[data-testid=cell]')"):
            break
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("viewer")).to_be_visible()
    for _ in range(10):
        if page.evaluate("document.activeElement?.dataset.testid") == "find-like":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(cards(page)).to_have_count(4)
    for _ in range(2):
        before = shown(page)
        for identifier in before:
            # An answer moves on to the next question.
            active = page.evaluate(
                "document.activeElement?.closest('[data-testid=card]')?.dataset.id ?? null"
            )
            if active != identifier:
                page.locator(f"[data-testid=card][data-id='{identifier}']").focus()
            page.keyboard.press("y" if int(identifier) <= 40 else "n")
        wait_for_others(page, before)
    assert state(server, page)["rounds"] == 2
    page.keyboard.press("Control+z")
    expect(page.get_by_test_id("redo")).to_be_enabled()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_undo_redo_and_relabel(open_page, server):
    page = open_page()
    begin(page)
    answer_round(page)
    first = shown(page)
    answer_round(page)
    page.get_by_test_id("undo").click()
    page.wait_for_function(
        "first => [...document.querySelectorAll('[data-testid=card]')]"
        ".every((card, at) => card.dataset.id === first[at])",
        arg=first,
    )
    assert state(server, page)["rounds"] == 1
    page.get_by_test_id("redo").click()
    expect(page.get_by_test_id("redo")).to_be_disabled()
    assert state(server, page)["rounds"] == 2
    before = state(server, page)
    page.get_by_role("button", name="History").click()
    history = page.get_by_test_id("history-panel")
    expect(history).to_be_visible()
    keep(page, "history")
    wrong = history.get_by_test_id("no").and_(history.locator("[aria-pressed=false]")).last
    wrong.click()
    page.wait_for_timeout(500)
    after = state(server, page)
    assert after["revision"] == before["revision"] + 1
    assert (after["relevant"], after["irrelevant"]) != (before["relevant"], before["irrelevant"])


def test_reloading_in_the_middle(open_page, server):
    page = open_page()
    begin(page)
    answer_round(page)
    before = shown(page)
    page.reload()
    expect(cards(page)).to_have_count(4)
    assert shown(page) == before
    assert state(server, page)["rounds"] == 1


def test_two_tabs_on_one_search(open_page, server):
    page = open_page()
    begin(page)
    other = open_page(page.url.removeprefix(server.url))
    expect(cards(other)).to_have_count(4)
    answer_round(page)
    before = shown(other)
    for identifier in before:
        other.locator(f"[data-testid=card][data-id='{identifier}']").get_by_test_id("no").click()
    expect(other.get_by_text("moved on", exact=False).first).to_be_visible()
    wait_for_others(other, before)
    # What was said in the second tab was said later, so it is what counts.
    expect(other.get_by_text("Your answers were kept")).to_be_visible()
    after = state(server, page)
    assert after["rounds"] == 2
    assert after["irrelevant"] == 4
    answer_round(other)
    assert state(server, page)["rounds"] == 3


def test_the_server_dies_in_the_middle_of_a_round(open_page, server):
    page = open_page()
    begin(page)
    answer_round(page)
    before = shown(page)
    for identifier in before[:-1]:
        card = page.locator(f"[data-testid=card][data-id='{identifier}']")
        card.get_by_test_id("yes" if is_blue(card) else "no").click()
    server.kill()
    last = page.locator(f"[data-testid=card][data-id='{before[-1]}']")
    last.get_by_test_id("no").click()
    expect(page.get_by_test_id("banner")).to_be_visible()
    server.start()
    wait_for_others(page, before)
    assert state(server, page)["rounds"] == 2
    expect(page.get_by_test_id("banner")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page, scheme):
    from axe_playwright_python.sync_playwright import Axe

    # axe is a script of others, which the policy of the page would refuse.
    page = open_page(color_scheme=scheme, bypass_csp=True)

    def check(place):
        found = Axe().run(page).response["violations"]
        bad = [
            (one["id"], one["nodes"][0]["html"])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert bad == [], place

    expect(page.get_by_test_id("cell").first).to_be_visible()
    check("browse")
    begin(page)
    answer_round(page)
    page.wait_for_timeout(800)
    check("search")
    if scheme == "dark":
        keep(page, "dark")
    for name in ("History", "Settings"):
        page.get_by_role("button", name=name).first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.wait_for_timeout(300)
        check(name)
        page.keyboard.press("Escape")
    page.get_by_role("link", name="Searches").click()
    expect(page.get_by_test_id("searches")).to_be_visible()
    page.wait_for_timeout(300)
    check("searches")


def test_on_a_phone(open_page):
    page = open_page(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    expect(page.get_by_test_id("cell").first).to_be_visible()
    begin(page)
    answer_round(page)
    keep(page, "phone")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360


def test_nothing_leaves_the_server(open_page, server):
    page = open_page()
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.reload()
    begin(page)
    answer_round(page)
    assert requests
    assert all(url.startswith((server.url, "blob:", "data:")) for url in requests)
