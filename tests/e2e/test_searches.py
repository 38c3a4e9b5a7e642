"""Searches as files, and as the classes of a data set."""

from __future__ import annotations

import json
import re
import zipfile

from axe import serious
from playwright.sync_api import expect
from serving import API, web
from steps import begun, cards, keep


def test_a_search_is_saved_and_opened_again(open_page, server, tmp_path):
    begun(server, rounds=1)
    page = open_page("/#/searches")
    with page.expect_download() as download:
        page.get_by_role("link", name="Save Search 1 as a file").click()
    assert download.value.suggested_filename == "Search 1.json"
    file = tmp_path / "Blue ones.json"
    download.value.save_as(file)
    page.get_by_test_id("open-saved").set_input_files(file)
    expect(cards(page)).to_have_count(4)
    expect(page.get_by_role("heading", name="Blue ones")).to_be_attached()
    copy = page.url.rpartition("/")[2]
    events = web.get(f"{server.url}{API}/searches/{copy}/file").json()["events"]
    assert events == json.loads(file.read_text())["events"]
    # What is no search is refused, with the reason.
    page.goto(f"{server.url}/#/searches")
    file.write_text("{}")
    page.get_by_test_id("open-saved").set_input_files(file)
    expect(page.get_by_text("must be a saved search")).to_be_visible()


def test_searches_as_classes(open_page, server, tmp_path):
    page = open_page(bypass_csp=True)
    info = web.get(f"{server.url}{API}/collections").json()[0]
    for name, relevant in (("Blue", [1, 2, 50]), ("Green", [50, 51, 52])):
        body = {"collection": info["id"], "name": name, "relevant": relevant}
        assert web.post(f"{server.url}{API}/searches", json=body).status_code == 201
    page.goto(f"{server.url}/#/searches")
    expect(page.get_by_role("link", name="Open Blue")).to_be_visible()
    keep(page, "searches-tools")
    page.get_by_test_id("make-dataset").click()
    dialog, link = page.get_by_test_id("dataset-dialog"), page.get_by_test_id("download-dataset")
    assert link.get_attribute("href") is None
    dialog.get_by_label("Blue").check()
    expect(dialog.get_by_text("3 pictures")).to_be_visible()
    dialog.get_by_label("Green").check()
    expect(page.get_by_test_id("conflicts")).to_contain_text("One picture is in several classes")
    expect(page.get_by_test_id("conflicts")).to_contain_text("green-09.jpg")
    assert link.get_attribute("href") is None, "nothing is decided yet"
    dialog.get_by_label("Leave them out").check()
    expect(link).to_have_attribute("href", re.compile("conflicts=skip"))
    dialog.get_by_label("For validation").fill("0.5")
    expect(link).to_have_attribute("href", re.compile(r"split=0\.5"))
    assert serious(page) == []
    keep(page, "dataset")
    with page.expect_download() as download:
        link.click()
    expect(dialog).not_to_be_visible()
    download.value.save_as(tmp_path / "set.zip")
    with zipfile.ZipFile(tmp_path / "set.zip") as archive:
        names = sorted(archive.namelist())
    folders = ["train/Blue", "train/Green", "val/Blue", "val/Green"]
    assert [name.rpartition("/")[0] for name in names] == folders
