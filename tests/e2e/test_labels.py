"""Labels from a file, chosen or dropped on the page."""

from __future__ import annotations

import json

from axe import serious
from playwright.sync_api import expect
from steps import cards, keep, state


def file(name: str, text: str) -> dict:
    return {"name": name, "mimeType": "text/csv", "buffer": text.encode()}


def drop(page, name: str, text: str) -> None:
    data = page.evaluate_handle(
        """([name, text]) => {
            const data = new DataTransfer();
            data.items.add(new File([text], name));
            return data;
        }""",
        [name, text],
    )
    page.dispatch_event("body", "drop", {"dataTransfer": data})


def test_a_file_begins_a_search_and_others_teach_it(open_page, server):
    page = open_page(
        viewport={"width": 320, "height": 740},
        color_scheme="dark",
        bypass_csp=True,
        has_touch=True,
        is_mobile=True,
    )
    expect(page.get_by_test_id("cell").first).to_be_visible()
    begun = file("Blue ones.csv", "path,label\nblue-02.jpg,yes\nred-01.jpg,no\n")
    page.get_by_test_id("upload").set_input_files(begun)
    expect(cards(page)).to_have_count(4)
    before = state(server, page)
    assert [before[name] for name in ("name", "relevant", "irrelevant")] == ["Blue ones", 1, 1]
    # What is wrong is told, with the line, and nothing has changed.
    wrong = file("wrong.csv", "path,label\nblue-03.jpg,yes\nblue-99.jpg,yes\n")
    page.get_by_test_id("labels").set_input_files(wrong)
    note = page.get_by_text("'wrong.csv', line 3: path must be that of a picture")
    expect(note).to_be_visible()
    keep(page, "labels-wrong-320-dark")
    assert state(server, page) == before
    # Dropped, it teaches the search that is open; one step takes it back.
    right = [{"path": f"blue-{number:02}.jpg", "label": "yes"} for number in range(5, 9)]
    drop(page, "more.json", json.dumps(right))
    expect(page.get_by_text("What more.json says was learnt.")).to_be_visible()
    assert state(server, page)["relevant"] == 5
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.get_by_test_id("history").click()
    panel = page.get_by_test_id("history-panel")
    expect(panel.get_by_role("heading", name="Labels from a file")).to_be_visible()
    keep(page, "labels-history-320-dark")
    panel.get_by_role("button", name="Undo").click()
    expect(panel.get_by_text("taken back")).to_be_visible()
    assert state(server, page)["relevant"] == 1
