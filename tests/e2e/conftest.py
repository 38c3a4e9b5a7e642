from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from painting import paint
from serving import Phoenix

from ital.collection import index

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def pictures(tmp_path_factory) -> Path:
    """A hundred and twenty pictures of three colours, forty of each, in the order of names."""
    folder = tmp_path_factory.mktemp("e2e") / "colours"
    folder.mkdir()
    rng = np.random.default_rng(0)
    hues = {"blue": (40, 80, 200), "green": (40, 170, 70), "red": (210, 50, 40)}
    for name, hue in hues.items():
        for number in range(40):
            paint(folder / f"{name}-{number:02}.jpg", hue, rng)
    index(folder)
    return folder


@pytest.fixture
def few(tmp_path) -> Path:
    """Six pictures, for a test to do with as it likes."""
    folder = tmp_path / "A few, under a name that is too long for a phone"
    folder.mkdir()
    for number in range(6):
        paint(folder / f"{number}.jpg", (200, 180, 60), np.random.default_rng(number))
    index(folder)
    return folder


@pytest.fixture
def server(request, tmp_path):
    """Serves the pictures, or the folders that a test names by `folders`."""
    marker = request.node.get_closest_marker("folders")
    folders = [request.getfixturevalue(name) for name in (marker.args if marker else ["pictures"])]
    one = Phoenix(*folders, "--no-index", "--database", f"sqlite:///{tmp_path}/s.sqlite")
    one.start()
    yield one
    one.end()


def pytest_configure(config):
    config.addinivalue_line("markers", "folders(*fixtures): what is served")


@pytest.fixture(scope="session")
def browser():
    if not CHROMIUM.exists():
        pytest.skip(f"Chromium is not at {CHROMIUM} (Debian's package chromium)")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield one
        one.close()


@pytest.fixture
def open_page(browser, server):
    """Pages of the server; whatever they complain about makes the test fail."""
    contexts, complaints = [], []

    def listen(message):
        # The browser tells of every request that fails, which some tests are about.
        if "svelte.dev/e/" in message.text:
            complaints.append(message.text)

    # Drawing movements takes a large part of the time: tests that are about them ask for them.
    usual = {"viewport": {"width": 1280, "height": 860}, "reduced_motion": "reduce"}

    def make(path="/", **options):
        context = browser.new_context(**(usual | options))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", listen)
        page.goto(f"{server.url}{path}")
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []
