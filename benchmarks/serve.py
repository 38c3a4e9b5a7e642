"""What the server adds to the library, how it bears many users, and whether the grid is smooth.

    python benchmarks/serve.py --out build/serve.json

(a) 200,000 pictures of 512 dimensions: from answers to the next batch over HTTP, as a multiple of
    the library's own `answer` and `suggest`, in turns within one run; medians.
(b) 20,000 pictures, 20 users at once: the slowest hundredth, as a multiple of one user's median.
(c) The grid over 200,000 pictures, scrolled in Chromium at three speeds: the longest time between
    two frames in the browser's own trace. It is left out where there is no Chromium.
(d) 200,000 pictures: requests a second, one after the other over a single connection that stays
    open, of something small and of thumbnails.
(e) The page over 200,000 pictures, opened in Chromium with nothing in its cache: from navigation
    until every thumbnail on the first screen is there; the median of several times.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # beside this file lies one that is named like the standard library's `select`

import argparse
import http.client
import io
import json
import os
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
from PIL import Image

import ital
from ital.collection.reader import Content
from ital.collection.store import Row, Store

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
_PART = 5000


def make_collection(folder: Path, count: int, dimension: int) -> None:
    """A collection of pictures that are nowhere but in it, with thumbnails of a few colours."""
    folder.mkdir()
    store = Store.create(folder / ".ital", folder)
    store.use("synthetic", None)
    table = store.create_table("synthetic", dimension)
    rng = np.random.default_rng(0)
    thumbnails = []
    for colour in rng.integers(0, 256, (64, 3)):
        stream = io.BytesIO()
        Image.new("RGB", (256, 192), tuple(colour.tolist())).save(stream, "JPEG", quality=60)
        thumbnails.append(stream.getvalue())
    spectrum = 1 / np.sqrt(np.arange(1, dimension + 1))
    for start in range(0, count, _PART):
        vectors = rng.normal(size=(min(_PART, count - start), dimension)) * spectrum
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        rows = [
            Row(
                start + place + 1,
                f"{start + place:06}.jpg",
                "",
                0,
                0,
                Content(256, 192, thumbnails[(start + place) % 64], vector),
            )
            for place, vector in enumerate(vectors.astype(np.float32))
        ]
        table.write(rows, new=True)
    table.tidy()


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A server of its own process; the address of its API."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = Path(sys.executable).with_name("ital")
    database = f"sqlite:///{folder.parent}/{folder.name}.sqlite"
    options = ["--no-index", "--port", str(port), "--database", database]
    process = subprocess.Popen([program, "serve", folder, *options], stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                if httpx.get(f"{url}/healthz").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield url
    finally:
        os.kill(process.pid, signal.SIGTERM)
        process.wait()


class Person:
    """Someone who answers as best they can, over HTTP."""

    def __init__(self, url: str, first: int) -> None:
        self._client = httpx.Client(base_url=f"{url}/api/v1", timeout=300)
        (collection,) = self._client.get("/collections").json()
        body = {"collection": collection["id"], "relevant": [first]}
        self._state: dict[str, Any] = self._client.post("/searches", json=body).json()

    def answer(self) -> float:
        """Seconds from answers to the next batch."""
        said = {one["id"]: "yes" if one["id"] % 3 == 0 else "no" for one in self._state["batch"]}
        change = {"revision": self._state["revision"], "key": os.urandom(8).hex(), "answers": said}
        begun = time.perf_counter()
        response = self._client.post(f"/searches/{self._state['id']}/answers", json=change)
        seconds = time.perf_counter() - begun
        response.raise_for_status()
        self._state = response.json()
        return seconds


def against_library(folder: Path, rounds: int) -> dict[str, float]:
    search = ital.Collection.open(folder).search(seed=0)
    search.query(relevant=[1])
    batch = search.suggest(4)
    library, server = [], []
    with serving(folder) as url:
        person = Person(url, 1)
        for _ in range(rounds):
            begun = time.perf_counter()
            search.answer({int(one): bool(one % 3 == 0) for one in batch})
            batch = search.suggest(4)
            library.append(time.perf_counter() - begun)
            server.append(person.answer())
    medians = statistics.median(library), statistics.median(server)
    return {"library": medians[0], "server": medians[1], "ratio": medians[1] / medians[0]}


def many_users(folder: Path, users: int, rounds: int) -> dict[str, float]:
    with serving(folder) as url:
        alone = Person(url, 1)
        median = statistics.median(alone.answer() for _ in range(rounds))
        people = [Person(url, 2 + number) for number in range(users)]
        times: list[float] = []
        failures: list[BaseException] = []

        def use(person: Person) -> None:
            try:
                times.extend(person.answer() for _ in range(rounds))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=use, args=(person,)) for person in people]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    slowest = float(np.quantile(times, 0.99))
    return {
        "alone": median,
        "slowest_percentile": slowest,
        "ratio": slowest / median,
        "failures": len(failures),
    }


SCROLL = """async ([pixels, steps]) => {
    const page = document.scrollingElement;
    const whole = (page.scrollHeight - page.clientHeight) / steps;
    scrollTo(0, 0);
    for (let step = 0; step < steps; step++) {
        scrollBy(0, pixels ?? whole);
        await new Promise(requestAnimationFrame);
    }
}"""
WAYS = {"leisurely": 40, "fast": 400, "from end to end": None}
"""Pixels a frame."""


def scrolling(folder: Path, steps: int) -> dict[str, dict[str, float]] | None:
    """Times between the frames that Chromium drew, by its own trace."""
    if not CHROMIUM.exists():
        return None
    from playwright.sync_api import sync_playwright

    found = {}
    with serving(folder) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(url)
        page.wait_for_selector("[data-testid=cell] img")
        for way, pixels in WAYS.items():
            page.wait_for_timeout(1000)
            categories = ["-*", "disabled-by-default-devtools.timeline.frame"]
            browser.start_tracing(page=page, categories=categories)
            page.evaluate(SCROLL, [pixels, steps])
            events = json.loads(browser.stop_tracing())["traceEvents"]
            drawn = sorted(event["ts"] for event in events if event["name"] == "DrawFrame")
            frames = np.diff(drawn) / 1000
            found[way] = {
                "frames": len(frames),
                "median_ms": float(np.median(frames)),
                "longest_ms": float(frames.max()),
                "over_100_ms": int((frames > 100).sum()),
            }
        browser.close()
    return found


def keep_alive(folder: Path, requests: int) -> dict[str, float]:
    """Requests a second over one connection."""
    with serving(folder) as url:
        (collection,) = httpx.get(f"{url}/api/v1/collections").json()
        thumbnails = f"/api/v1/collections/{collection['id']}/pictures/{{}}/thumbnail"
        found = {}
        for name, path in (("collections", "/api/v1/collections"), ("thumbnails", thumbnails)):
            connection = http.client.HTTPConnection(urlsplit(url).netloc)
            connection.connect()
            begun = time.perf_counter()
            for number in range(1, requests + 1):
                connection.request("GET", path.format(number))
                response = connection.getresponse()
                response.read()
                assert response.status == 200, response.status
            found[name] = requests / (time.perf_counter() - begun)
            connection.close()
    return found


FILLED = """() => {
    const seen = [...document.querySelectorAll("[data-testid=cell]")].filter((cell) => {
        const { top, bottom } = cell.getBoundingClientRect();
        return bottom > 0 && top < innerHeight;
    });
    const there = seen.map((cell) => cell.querySelector("img")).filter((one) => one?.naturalWidth);
    return seen.length > 0 && there.length === seen.length && [performance.now(), seen.length];
}"""


def filling(folder: Path, times: int) -> dict[str, float] | None:
    """Milliseconds from navigation to a screen full of thumbnails."""
    if not CHROMIUM.exists():
        return None
    from playwright.sync_api import sync_playwright

    taken = []
    with serving(folder) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        for _ in range(times):
            context = browser.new_context(viewport={"width": 1280, "height": 860})
            page = context.new_page()
            page.goto(url, wait_until="commit")
            taken.append(page.wait_for_function(FILLED).json_value())
            context.close()
        browser.close()
    milliseconds, thumbnails = zip(*taken, strict=True)
    return {"median_ms": statistics.median(milliseconds), "thumbnails": thumbnails[0]}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--large", type=int, default=200_000)
    parser.add_argument("--small", type=int, default=20_000)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--dimension", type=int, default=512)
    parser.add_argument("--frames", type=int, default=600)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--out", type=Path, help="where to write JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        large, small = Path(name) / "large", Path(name) / "small"
        make_collection(large, arguments.large, arguments.dimension)
        make_collection(small, arguments.small, arguments.dimension)
        report: dict[str, Any] = {"against_library": against_library(large, arguments.rounds)}
        one = report["against_library"]
        print(
            f"(a) {arguments.large:,} pictures: {one['server'] * 1e3:.0f} ms over HTTP, "
            f"{one['library'] * 1e3:.0f} ms by the library: {one['ratio']:.2f}x"
        )
        report["many_users"] = many_users(small, arguments.users, arguments.rounds)
        one = report["many_users"]
        print(
            f"(b) {arguments.users} users at once over {arguments.small:,}: slowest percentile "
            f"{one['slowest_percentile'] * 1e3:.0f} ms, one alone {one['alone'] * 1e3:.0f} ms: "
            f"{one['ratio']:.1f}x, {one['failures']} failures"
        )
        report["scrolling"] = scrolling(large, arguments.frames)
        for way, one in (report["scrolling"] or {}).items():
            print(
                f"(c) the grid over {arguments.large:,}, {way}: median frame "
                f"{one['median_ms']:.1f} ms, longest {one['longest_ms']:.1f} ms, "
                f"{one['over_100_ms']} over 100 ms of {one['frames']}"
            )
        report["keep_alive"] = keep_alive(large, arguments.requests)
        for name, speed in report["keep_alive"].items():
            print(f"(d) {name} over one connection: {speed:,.0f} requests a second")
        report["filling"] = filling(large, arguments.times)
        if one := report["filling"]:
            print(
                f"(e) a screen of {one['thumbnails']} thumbnails is full after "
                f"{one['median_ms']:.0f} ms"
            )
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
