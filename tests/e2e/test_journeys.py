"""Whole journeys in a real browser, against the real server."""

from __future__ import annotations

import base64
import csv
import io
import re
import time

import numpy as np
import pytest
from axe import serious
from painting import paint
from playwright.sync_api import expect
from serving import web
from steps import (
    all_loaded,
    all_sent,
    answer_round,
    begin,
    begun,
    cards,
    close,
    focus,
    is_blue,
    is_on_top,
    keep,
    open_search,
    refuse,
    schemes,
    shown,
    state,
    wait_for_others,
    wait_for_questions,
)


def test_from_a_picture_to_an_export(open_page, server):
    page = open_page(reduced_motion="no-preference")
    expect(page.get_by_test_id("cell").first).to_be_visible()
    begin(page)
    for _ in range(5):
        answer_round(page)
    expect(page.get_by_test_id("summary")).to_contain_text("match")
    results = page.get_by_test_id("results").get_by_test_id("cell")
    expect(results.first).to_be_visible()
    best = web.get(f"{server.url}/api/v1/searches/{state(server, page)['id']}/results?limit=40")
    found = [one["id"] <= 40 for one in best.json()["results"]]
    assert sum(found) >= 38
    threshold = float(page.get_by_test_id("threshold").input_value())
    page.get_by_test_id("export").click()
    dialog = page.get_by_role("dialog")
    with page.expect_download() as download:
        dialog.get_by_role("link", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    # It holds as many as the page counts, and all that are so likely.
    expect(page.get_by_test_id("expected")).to_contain_text(f"{len(rows)}")
    likely = [one["id"] for one in best.json()["results"] if one["probability"] >= threshold]
    assert [int(row["id"]) for row in rows][:40] == likely
    assert rows
    assert sum(row["path"].startswith("blue") for row in rows) >= 0.9 * len(rows)


def test_no_figure_before_the_first_answer(open_page, server):
    page = open_search(open_page, server)
    results = page.get_by_test_id("results")
    expect(results.get_by_test_id("cell").nth(5)).to_be_visible()
    summary = page.get_by_test_id("summary")
    expect(summary).to_contain_text("So far only likeness to what you began with is known")
    for name in ("relevant", "outlook", "threshold", "expected"):
        expect(page.get_by_test_id(name)).to_have_count(0)
    assert "%" not in page.locator("main").inner_html()
    results.locator("[data-open]").nth(2).click()
    viewer = page.get_by_test_id("viewer")
    expect(viewer).to_contain_text("3 of 120")
    viewer.get_by_role("button", name="Why?").click()
    expect(page.get_by_test_id("why")).to_contain_text("Because of what you said")
    for place in (viewer, page.get_by_test_id("why").locator(".top")):
        assert "likely" not in place.inner_text()
    close(page, page.get_by_test_id("why"))
    close(page, viewer)
    page.get_by_test_id("export").click()
    dialog = page.get_by_test_id("export-dialog")
    expect(dialog).to_contain_text("The best")
    assert "likely" not in dialog.inner_text()
    with page.expect_download() as download:
        dialog.get_by_role("link", name="Paths").click()
    assert len(download.value.path().read_text().splitlines()) == 100


def test_figures_after_the_first_answer(open_page, server):
    page = open_search(open_page, server, rounds=1)
    known = state(server, page)
    now = known["progress"][-1]
    relevant = page.get_by_test_id("relevant")
    expect(relevant).to_contain_text(f"{now['relevant']:.0f}")
    expect(relevant).to_contain_text(f"{now['low']:.0f} to {now['high']:.0f}")
    expect(page.get_by_test_id("summary")).to_contain_text("between")
    meter = page.get_by_role("meter", name="one more round is likely to change")
    expect(meter).to_have_attribute("aria-valuenow", str(known["outlook"]))
    expect(page.get_by_test_id("outlook")).to_contain_text(meter.get_attribute("aria-valuetext"))
    # How likely pictures are is told, but for those of which it is known.
    results = page.get_by_test_id("results")
    results.get_by_test_id("threshold").wait_for()
    said, unsaid = "[data-open].marked:is(.yes, .no)", "[data-open]:not(.yes, .no)"
    assert "%" not in results.locator(said).first.get_attribute("aria-label")
    assert "%" in results.locator(unsaid).first.get_attribute("aria-label")
    for place, told in ((said, False), (unsaid, True)):
        results.locator(place).first.click()
        viewer = page.get_by_test_id("viewer")
        expect(viewer).to_contain_text("of 120")
        assert ("likely" in viewer.inner_text()) is told
        close(page, viewer)
    # From where to where precision may be is told by a tooltip, and to those who do not see it.
    told = r"Precision, how many of these are right: .* %"
    expect(page.get_by_title(re.compile(told))).to_be_visible()
    expect(page.get_by_test_id("threshold")).to_have_attribute("aria-valuetext", re.compile(told))


def test_the_threshold_follows_the_balance_until_it_is_moved(open_page, server):
    page = open_search(open_page, server)

    def at(value):
        expect(page.get_by_test_id("threshold")).to_have_value(f"{value:g}")

    def balanced():
        url = f"{server.url}/api/v1/searches/{state(server, page)['id']}/thresholds"
        return web.get(url).json()["balanced"]

    for _ in range(2):
        answer_round(page)
        at(balanced())
    page.get_by_test_id("threshold").fill("0.83")
    expect(page.get_by_test_id("expected")).to_contain_text("at least 83 %")
    answer_round(page)
    assert balanced() != 0.83
    at(0.83)
    page.reload()
    at(0.83)
    # That of another search is its own.
    page.goto(f"{server.url}{begun(server, 1, picture=10)}")
    at(balanced())


def test_a_picture_from_outside(open_page, pictures):
    """Even if it is brought before the page knows of any collection."""
    page = open_page("/healthz")

    def late(route):
        time.sleep(1)
        route.continue_()

    page.route("**/api/v1/collections", late)
    page.goto(page.url.replace("/healthz", "/"), wait_until="commit")
    page.get_by_test_id("upload").set_input_files(pictures / "green-05.jpg")
    expect(cards(page)).to_have_count(4)
    first = page.get_by_test_id("results").get_by_test_id("cell").first
    expect(first).to_have_attribute("data-id", "46")
    # In the list of searches, the picture itself stands for it.
    page.get_by_role("link", name="Searches").click()
    cover = page.get_by_test_id("searches").locator("img").first
    expect(cover).to_be_visible()
    page.wait_for_function("image => image.naturalWidth > 0", arg=cover.element_handle())


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
    assert focus(page) == "main"
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
    close(page, page.get_by_role("dialog"))


def test_undo_redo_and_relabel(open_page, server):
    page = open_search(open_page, server, rounds=1)
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
    wrong = history.get_by_test_id("no").and_(history.locator("[aria-pressed=false]")).last
    with page.expect_response("**/answers"):
        wrong.click()
    after = state(server, page)
    assert after["revision"] == before["revision"] + 1
    assert (after["relevant"], after["irrelevant"]) != (before["relevant"], before["irrelevant"])


def test_reloading_in_the_middle(open_page, server):
    page = open_search(open_page, server)
    answer_round(page)
    before = shown(page)
    page.reload()
    expect(cards(page)).to_have_count(4)
    assert shown(page) == before
    assert state(server, page)["rounds"] == 1


def test_two_tabs_on_one_search(open_page, server):
    page = open_search(open_page, server)
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
    # The questions of the first tab's round may be shown for a moment before those that follow.
    wait_for_questions(other, [one["id"] for one in after["batch"]])
    answer_round(other)
    assert state(server, page)["rounds"] == 3


def test_the_server_dies_in_the_middle_of_a_round(open_page, server):
    page = open_search(open_page, server, rounds=1)
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


def test_axe_finds_nothing_serious(open_page, server):
    # axe is a script of others, which the policy of the page would refuse.
    page = open_page(bypass_csp=True)

    def check(place):
        for scheme in schemes(page):
            assert serious(page) == [], (place, scheme)

    expect(page.get_by_test_id("cell").first).to_be_visible()
    check("browse")
    page.goto(f"{server.url}{begun(server, 1)}")
    expect(page.get_by_test_id("threshold")).to_be_visible()
    check("search")
    for name in ("History", "Settings"):
        page.get_by_role("button", name=name).first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        check(name)
        close(page, page.get_by_role("dialog"))
    page.get_by_role("link", name="Searches").click()
    expect(page.get_by_test_id("searches")).to_be_visible()
    check("searches")


def test_on_a_phone(open_page):
    page = open_page(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    begin(page)
    answer_round(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360
    # A result that the keys go to is not under the bar, which has all its lines by then.
    expect(page.get_by_test_id("threshold")).to_be_visible()
    results = page.get_by_test_id("results")
    first = results.locator("[data-open]").first
    first.focus()
    page.keyboard.press("End")
    page.keyboard.press("Home")
    expect(first).to_be_focused()
    bar = page.get_by_test_id("export").bounding_box()
    assert first.bounding_box()["y"] > bar["y"] + bar["height"] + 24


def test_nothing_leaves_the_server(open_page, server):
    page = open_page()
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.reload()
    begin(page)
    answer_round(page)
    assert requests
    assert all(url.startswith((server.url, "blob:", "data:")) for url in requests)


def test_pictures_come_back_after_an_outage(open_page, server):
    page = open_page()
    all_loaded(page)
    server.kill()
    page.evaluate("scrollTo(0, 1e6)")
    banner = page.get_by_test_id("banner")
    expect(banner).to_be_visible()
    expect(banner).not_to_contain_text("answers")
    expect(page.get_by_test_id("cell").get_by_text(".jpg").first).to_be_visible()
    server.start()
    expect(banner).to_have_count(0)
    all_loaded(page)


@pytest.mark.folders("pictures", "few")
def test_two_collections_on_a_phone(open_page):
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    tray = page.get_by_role("complementary", name="Examples")
    choice = page.get_by_label("Collection", exact=True)

    def narrow():
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert choice.bounding_box()["width"] > 80

    page.locator("[data-testid=cell][data-id='3']").get_by_test_id("yes").tap()
    expect(tray).to_be_visible()
    narrow()
    choice.select_option(index=1)
    expect(page.get_by_test_id("cell")).to_have_count(6)
    expect(tray).to_have_count(0)
    assert focus(page) == "collection"
    narrow()
    keep(page, "phone-collections")
    choice.select_option(index=0)
    expect(tray).to_be_visible()
    page.locator("[data-testid=cell][data-id='5']").get_by_test_id("no").tap()
    page.reload()
    expect(tray.get_by_role("listitem")).to_have_count(2)
    page.get_by_test_id("search-examples").tap()
    expect(cards(page)).to_have_count(4)
    page.get_by_role("link", name="Searches").tap()
    expect(page.get_by_test_id("searches")).to_contain_text("colours")


def test_the_place_is_kept_over_a_reload(open_page):
    page = open_page()
    expect(page.get_by_test_id("cell").first).to_be_visible()
    field = page.get_by_label("Go to picture number")
    field.fill("1,00")
    field.press("Enter")
    last = page.locator("[data-testid=cell][data-id='100']")
    expect(last).to_be_in_viewport()
    page.reload()
    expect(last).to_be_in_viewport()


def test_quick_keys_make_one_round(open_page, server):
    page = open_search(open_page, server)
    before = shown(page)
    page.get_by_role("button", name="Look closer").first.click()
    viewer = page.get_by_test_id("viewer")
    for _ in range(6):
        page.keyboard.press("y")
    wait_for_others(page, before)
    all_sent(page)
    assert state(server, page)["rounds"] == 1
    # Back closes the picture, and the search is still there.
    page.go_back()
    expect(viewer).to_have_count(0)
    assert focus(page) == "card"


def test_a_mark_that_is_refused(open_page, server):
    page = open_search(open_page, server)
    result = page.get_by_test_id("results").get_by_test_id("cell").nth(1)
    result.hover()
    marked = result.get_by_test_id("yes")
    before = state(server, page)["revision"]
    # A second click says nothing new.
    with page.expect_response("**/answers"):
        marked.dblclick()
    expect(result.get_by_role("button", name="marked yes")).to_be_visible()
    all_sent(page)
    assert state(server, page)["revision"] == before + 1
    refuse(page, "**/answers")
    page.get_by_test_id("results").locator("[data-open]").nth(9).click()
    viewer = page.get_by_test_id("viewer")
    expect(viewer).to_contain_text("likely")
    page.keyboard.press("n")
    note = page.get_by_text("could not be marked. Not today")
    expect(note).to_be_visible()
    assert is_on_top(note)
    expect(viewer.get_by_test_id("no")).to_have_attribute("aria-pressed", "false")


def test_a_search_that_cannot_start(open_page):
    page = open_page()
    all_loaded(page)
    refuse(page, "**/searches")
    page.locator("[data-testid=cell][data-id='3'] [data-open]").click()
    page.get_by_test_id("find-like").click()
    expect(page.get_by_text("Not today")).to_be_visible()
    close(page, page.get_by_test_id("viewer"))
    page.keyboard.press("+")
    search = page.get_by_test_id("search-examples")
    search.click()
    expect(page.get_by_text("Not today")).to_be_visible()
    # All is as it was, and the note leaves the button free.
    expect(page.locator("[data-testid=cell][data-id='3']")).to_be_in_viewport()
    assert focus(page) == "search-examples"
    assert is_on_top(search)


def test_nothing_is_wider_than_the_window(open_page, server):
    page = open_page()

    def check(place):
        for width in (320, 390, 641, 820, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            page.wait_for_timeout(60)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (place, width)

    expect(page.get_by_test_id("cell").first).to_be_visible()
    check("browse")
    page.goto(f"{server.url}{begun(server, 1)}")
    page.get_by_test_id("threshold").fill("0.7")
    check("search")
    page.get_by_role("link", name="Searches").click()
    expect(page.get_by_test_id("searches")).to_be_visible()
    check("searches")


@pytest.mark.folders("few")
def test_new_pictures_appear_by_themselves(open_page, server, few):
    page = open_page()
    cells = page.get_by_test_id("cell")
    expect(cells).to_have_count(6)
    paint(few / "new.jpg", (60, 60, 200), np.random.default_rng(9))
    collection = web.get(f"{server.url}/api/v1/collections").json()[0]["id"]
    web.post(f"{server.url}/api/v1/collections/{collection}/index")
    expect(cells).to_have_count(7)
    all_loaded(page)
    # By hand, too; and the button keeps the focus.
    paint(few / "newer.jpg", (60, 60, 200), np.random.default_rng(10))
    again = page.get_by_role("button", name="Look for new pictures")
    again.focus()
    page.keyboard.press("Enter")
    expect(cells).to_have_count(8)
    expect(again).to_be_focused()


def test_a_dropped_picture(open_page, pictures):
    page = open_page()
    expect(page.get_by_test_id("cell").first).to_be_visible()
    content = base64.b64encode((pictures / "red-05.jpg").read_bytes()).decode()
    files = page.evaluate_handle(
        """content => {
            const bytes = Uint8Array.from(atob(content), c => c.charCodeAt(0));
            const files = new DataTransfer();
            files.items.add(new File([bytes], 'red.jpg', { type: 'image/jpeg' }));
            return files;
        }""",
        content,
    )
    page.dispatch_event("main", "dragenter", {"dataTransfer": files})
    expect(page.get_by_text("Drop a picture")).to_be_visible()
    page.dispatch_event("main", "drop", {"dataTransfer": files})
    expect(cards(page)).to_have_count(4)
    expect(page.get_by_label("Name of this search")).to_have_value("red")


def test_searches_are_deleted_by_keyboard(open_page, server):
    collection = web.get(f"{server.url}/api/v1/collections").json()[0]["id"]
    for picture in (1, 2):
        body = {"collection": collection, "relevant": [picture]}
        web.post(f"{server.url}/api/v1/searches", json=body).raise_for_status()
    page = open_page("/#/searches")
    page.get_by_test_id("delete").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("delete")).to_have_count(1)
    expect(page.get_by_test_id("delete")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Searches", exact=True)).to_be_focused()


def test_a_search_that_begins_while_the_server_is_away(open_page, server):
    """It begins when the server is back, and once."""
    page = open_page()
    all_loaded(page)
    page.locator("[data-testid=cell][data-id='3'] [data-open]").click()
    server.kill()
    page.get_by_test_id("find-like").click()
    expect(page.get_by_test_id("banner")).to_be_visible()
    server.start()
    expect(cards(page)).to_have_count(4)
    assert len(web.get(f"{server.url}/api/v1/searches").json()) == 1
    page.get_by_role("link", name="Searches").click()
    page.get_by_role("button", name="Duplicate").click()
    expect(page.get_by_text("(copy)").first).to_be_visible()
    assert len(web.get(f"{server.url}/api/v1/searches").json()) == 2


def test_a_name_that_is_refused(open_page, server):
    """The page says why, and shows the name that is kept."""
    page = open_search(open_page, server)
    name = page.get_by_label("Name of this search")
    for typed, kept in (("  Two words ", "Two words"), ("right\u202eleft", "Two words")):
        name.fill(typed)
        with page.expect_response(lambda response: response.request.method == "PATCH"):
            name.press("Enter")
        expect(name).to_have_value(kept)
    expect(page.locator(".toast.error")).to_contain_text("must have no line breaks")
    assert state(server, page)["name"] == "Two words"
