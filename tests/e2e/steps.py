"""What people do on the page, and what tests look at."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect
from serving import API, change, web

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
"""Of the last run, to look at."""


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


def begun(server, rounds=0, picture=3) -> str:
    """Where a search is that was begun and answered by other means than the page."""
    collection = web.get(f"{server.url}{API}/collections").json()[0]["id"]
    body = {"collection": collection, "relevant": [picture]}
    now = web.post(f"{server.url}{API}/searches", json=body).json()
    for _ in range(rounds):
        said = {one["id"]: "yes" if one["id"] <= 40 else "no" for one in now["batch"]}
        url = f"{server.url}{API}/searches/{now['id']}/answers"
        now = web.post(url, json=change(now, answers=said)).json()
    return f"/#/search/{now['id']}"


def open_search(open_page, server, rounds=0, **options):
    """A page with a search and its questions."""
    page = open_page(begun(server, rounds), **options)
    expect(cards(page)).to_have_count(4)
    return page


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


def wait_for_questions(page, identifiers):
    """Until these are the questions, in whatever order."""
    page.wait_for_function(
        """wanted => {
            const now = [...document.querySelectorAll('[data-testid=card]')];
            const ids = now.map(card => Number(card.dataset.id));
            return ids.length === wanted.length && wanted.every(id => ids.includes(id));
        }""",
        arg=identifiers,
    )


def all_sent(page):
    """Wait until the server has acknowledged all that was said."""
    page.wait_for_function(
        "() => !Object.keys(localStorage).some(key => key.startsWith('ital.outbox'))"
    )


def close(page, dialog):
    """By its key, and wait until it has gone: what follows is meant for what is below it."""
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def state(server, page):
    search = page.url.rpartition("/")[2]
    return web.get(f"{server.url}{API}/searches/{search}").json()


def focus(page) -> str:
    """What has the focus."""
    return page.evaluate(
        """() => {
            const at = document.activeElement;
            return at.dataset.testid || at.id || at.tagName;
        }"""
    )


def all_loaded(page):
    """Wait until every cell shows its picture."""
    page.wait_for_function(
        """() => {
            const cells = [...document.querySelectorAll('[data-testid=cell]')];
            const loaded = cell => cell.querySelector('img')?.naturalWidth > 0;
            return cells.length > 0 && cells.every(loaded);
        }"""
    )


def is_on_top(note) -> bool:
    """Whether a note is seen, rather than what covers it."""
    return note.evaluate(
        """note => {
            const { x, y, width, height } = note.getBoundingClientRect();
            return note.contains(document.elementFromPoint(x + width / 4, y + height / 2));
        }"""
    )


def refuse(page, path):
    body = '{"detail": "not today"}'
    page.route(path, lambda route: route.fulfill(status=422, body=body))


def at_rest(page):
    """Wait until all movements have ended, and all pictures in view have come or failed."""
    page.wait_for_function(
        """() => {
            const ends = one => one.effect.getComputedTiming().endTime !== Infinity;
            const moves = one => one.playState === 'running' && ends(one);
            const inView = one => {
                const { top, bottom } = one.getBoundingClientRect();
                return bottom > 0 && top < innerHeight;
            };
            return !document.getAnimations().some(moves)
                && [...document.images].filter(inView).every(one => one.complete);
        }"""
    )


def schemes(page):
    """The page in light colours and then in dark ones, when all movements have ended."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        at_rest(page)
        yield scheme


def keep(page, name):
    at_rest(page)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")
