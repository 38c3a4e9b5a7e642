"""What people see first: the sample, from one emoji to all of its kind; with screenshots."""

from __future__ import annotations

import csv
import io

import pytest
from playwright.sync_api import expect
from serving import Phoenix
from steps import all_loaded, cards, close, keep, shown, state, wait_for_others

from ital.collection.emoji import sample
from ital.collection.store import in_cache

QUERY = "blossom"


@pytest.fixture(scope="module")
def emoji():
    one = sample()
    one.collection()
    return one


@pytest.fixture
def server(emoji, tmp_path):
    to, database = in_cache(emoji.folder), f"sqlite:///{tmp_path}/s.sqlite"
    one = Phoenix(emoji.folder, "--to", to, "--no-index", "--database", database)
    one.start()
    yield one
    one.end()


@pytest.fixture
def flowers(emoji) -> dict[int, bool]:
    """Which pictures show a flower, by identifier."""
    collection = emoji.collection()
    kinds = [emoji.truth[path] for path in collection.paths]
    truths = [one.subgroup == "plant-flower" for one in kinds]
    return dict(zip(collection.ids.tolist(), truths, strict=True))


@pytest.fixture
def query(emoji) -> int:
    collection = emoji.collection()
    names = [emoji.truth[path].name for path in collection.paths]
    return names.index(QUERY)


def test_from_one_flower_to_all(open_page, server, flowers, query, emoji):
    page = open_page()
    expect(page.get_by_test_id("cell").first).to_be_visible()
    field = page.get_by_label("Go to picture number")
    field.fill(str(query + 1))
    field.press("Enter")
    cell = page.locator(f"[data-testid=cell][data-index='{query}']")
    expect(cell).to_be_in_viewport()
    all_loaded(page)
    keep(page, "browse")
    cell.locator("[data-open]").click()
    keep(page, "viewer")
    page.get_by_test_id("find-like").click()
    expect(cards(page)).to_have_count(4)
    found = []
    for number in range(5):
        before = shown(page)
        for place, identifier in enumerate(before):
            answer = "yes" if flowers[int(identifier)] else "no"
            if (number, place) == (2, 2):
                page.mouse.move(0, 0)
                keep(page, "answer")
            page.locator(f"[data-testid=card][data-id='{identifier}']").get_by_test_id(
                answer
            ).click()
        wait_for_others(page, before)
        best = page.get_by_test_id("results").get_by_test_id("cell").all()[:8]
        found.append(sum(flowers[int(one.get_attribute("data-id"))] for one in best))
    # What was said is at the top, and more like it.
    assert found[-1] >= found[0]
    assert found[-1] >= 6
    expect(page.get_by_test_id("summary")).to_contain_text("match")
    page.get_by_role("button", name="History").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    keep(page, "history")
    close(page, page.get_by_role("dialog"))
    # So that the first row is right under the bars.
    results = page.get_by_test_id("results")
    results.evaluate("grid => scrollBy(0, grid.getBoundingClientRect().top - 56)")
    all_loaded(page)
    keep(page, "results")
    page.get_by_test_id("export").click()
    keep(page, "export")
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("link", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    said = {row["path"] for row in rows if row["label"] == "yes"}
    assert len(said) == state(server, page)["relevant"]
    assert {emoji.truth[path].subgroup for path in said} == {"plant-flower"}
    address = page.url.removeprefix(server.url)
    keep(open_at(open_page, address, color_scheme="dark"), "dark")
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    keep(open_at(open_page, address, **phone), "phone")


def open_at(open_page, address, **options):
    page = open_page(address, **options)
    expect(cards(page)).to_have_count(4)
    expect(page.get_by_test_id("results").get_by_test_id("cell").first).to_be_visible()
    return page
