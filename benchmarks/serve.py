"""What the server adds to the library, how it bears many users, and whether the grid is smooth.

    python benchmarks/serve.py --out build/serve.json
    python benchmarks/serve.py --parts f --folder build/million --out build/million.json

(a) 200,000 pictures of 512 dimensions: from answers to the next batch over HTTP, as a multiple of
    the library's own `answer` and `suggest`, in turns within one run; medians. The same until the
    first results are there, and with them figures of where the search stands and all thresholds.
(b) 20,000 pictures, 20 users at once: the slowest hundredth, as a multiple of one user's median.
(c) The page over 200,000 pictures in Chromium, from the grid, scrolled at three speeds, by a search
    of a few rounds to its results: the longest time between two frames in the browser's own trace.
    An empty page, scrolled before and after, tells how much of it is the machine's. It is left out
    where there is no Chromium.
(d) 200,000 pictures: requests a second, one after the other over a single connection that stays
    open, of something small and of thumbnails.
(e) The page over 200,000 pictures, opened in Chromium with nothing in its cache: from navigation
    until every thumbnail on the first screen is there; the median of several times.
(f) A million pictures, in half precision unless told otherwise: from the start of the server until
    it answers, and until a search has begun; the median of several times. Then the same as in (a).
    Its collection takes 3 GB and minutes to make; a folder that is given keeps it for later runs.
(g) 200,000 pictures, of which 500 are marked in one request, and that is undone: until the server
    has acknowledged it, and until the next batch, which is also told as a multiple of the library's
    own; medians of several searches.

All parts over 200,000 pictures ask one server, which is started by the first of them.
"""

from __future__ import annotations

import sys

sys.path.pop(0)  # beside this file lies one that is named like the standard library's `select`

import argparse
import http.client
import io
import json
import os
import resource
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
from PIL import Image

import ital
from ital.collection import mapped
from ital.collection.reader import Content
from ital.collection.store import TYPES, Row, Store

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
SHOWN = 200
"""Results that the page asks for at a time."""

_PART, _CLUSTER = 50_000, 1000
"""Pictures that are written at a time, and that lie about one centre."""


def make_collection(folder: Path, count: int, dimension: int, kind: str = "float32") -> None:
    """A collection of pictures that are nowhere but in it, with thumbnails of a few colours.

    Embeddings lie about centres, a thousand pictures to each.
    """
    folder.mkdir(parents=True)
    store = Store.create(folder / ".ital", folder)
    store.use("synthetic", None)
    table = store.create_table("synthetic", dimension, kind)
    rng = np.random.default_rng(0)
    thumbnails = []
    for colour in rng.integers(0, 256, (64, 3)):
        stream = io.BytesIO()
        Image.new("RGB", (256, 192), tuple(colour.tolist())).save(stream, "JPEG", quality=60)
        thumbnails.append(stream.getvalue())
    spectrum = (1 / np.sqrt(np.arange(1, dimension + 1))).astype(np.float32)
    centres = rng.standard_normal((-(-count // _CLUSTER), dimension), np.float32)
    for start in range(0, count, _PART):
        size = min(_PART, count - start)
        vectors = rng.standard_normal((size, dimension), np.float32)
        vectors += centres[rng.integers(0, len(centres), size)]
        vectors *= spectrum
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
            for place, vector in enumerate(vectors)
        ]
        table.write(rows, new=True)
    table.tidy()
    with store.locked():
        mapped.write(store, "synthetic")  # as `ital index` does at its end


def made(folder: Path, count: int, dimension: int, kind: str) -> Path:
    """The same, unless it is there already."""
    if not folder.exists():
        make_collection(folder, count, dimension, kind)
    return folder


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

    acknowledged = 0.0
    """Seconds from the last change until it was safe."""

    def __init__(self, url: str, first: int) -> None:
        self._client = httpx.Client(base_url=f"{url}/api/v1", timeout=300)
        (collection,) = self._client.get("/collections").json()
        body = {"collection": collection["id"], "relevant": [first]}
        self._state: dict[str, Any] = self._client.post("/searches", json=body).json()

    def answer(self) -> float:
        """Seconds from answers to the next batch."""
        return self.mark([one["id"] for one in self._state["batch"]])

    def mark(self, pictures: Iterable[int]) -> float:
        """Seconds from answers about any pictures to the next batch."""
        said = {int(one): "yes" if one % 3 == 0 else "no" for one in pictures}
        return self._change("answers", answers=said)

    def undo(self) -> float:
        """Seconds until the last answers are taken back, and there is a batch again."""
        return self._change("undo")

    def _change(self, what: str, **content: Any) -> float:
        change = {"revision": self._state["revision"], "key": os.urandom(8).hex(), **content}
        begun = time.perf_counter()
        address = f"/searches/{self._state['id']}"
        response = self._client.post(f"{address}/{what}", json=change)
        self.acknowledged = time.perf_counter() - begun
        response.raise_for_status()
        self._state = response.json()
        if self._state["learning"]:
            self._state = self._client.get(address).json()
        return time.perf_counter() - begun

    def look(self) -> float:
        """Seconds until all is there that the page shows of a round."""
        address = f"/searches/{self._state['id']}"
        wanted = (address, f"{address}/thresholds", f"{address}/results?limit={SHOWN}")
        begun = time.perf_counter()
        with ThreadPoolExecutor() as threads:
            for response in threads.map(self._client.get, wanted):
                response.raise_for_status()
        return time.perf_counter() - begun


def against_library(folder: Path, url: str, rounds: int) -> dict[str, dict[str, float]]:
    """Seconds until there is a next batch, and until there are results of the round as well."""
    search = ital.Collection.open(folder).search(seed=0)
    search.query(relevant=[1])
    batch = search.suggest(4)
    library: dict[str, list[float]] = {"batch": [], "batch and results": []}
    server: dict[str, list[float]] = {"batch": [], "batch and results": []}
    person = Person(url, 1)
    for _ in range(rounds):
        begun = time.perf_counter()
        search.answer({int(one): bool(one % 3 == 0) for one in batch})
        batch = search.suggest(4)
        library["batch"].append(time.perf_counter() - begun)
        search.results(SHOWN)
        library["batch and results"].append(time.perf_counter() - begun)
        server["batch"].append(person.answer())
        server["batch and results"].append(server["batch"][-1] + person.look())
    return {until: _compared(library[until], server[until]) for until in library}


def _compared(library: list[float], server: list[float]) -> dict[str, float]:
    """Medians, and from where to where half of the rounds were: how busy the machine was."""
    medians = statistics.median(library), statistics.median(server)
    found = {"library": medians[0], "server": medians[1], "ratio": medians[1] / medians[0]}
    for name, seconds in (("library", library), ("server", server)):
        low, high = np.quantile(seconds, [0.25, 0.75])
        found |= {f"{name}_low": float(low), f"{name}_high": float(high)}
    return found


def marking(folder: Path, url: str, count: int, times: int) -> dict[str, dict[str, float]]:
    """Seconds until there is a next batch after many answers at once, and after their undo."""
    collection = ital.Collection.open(folder)
    many = np.random.default_rng(0).choice(len(collection.pool), count, replace=False) + 1
    library: dict[str, list[float]] = {"many answers": [], "their undo": []}
    server: dict[str, list[float]] = {"many answers": [], "their undo": []}
    acknowledged: dict[str, list[float]] = {"many answers": [], "their undo": []}
    for number in range(times):
        search = collection.search(seed=number)
        search.query(relevant=[1])
        person = Person(url, 1)
        answers = {int(one): bool(one % 3 == 0) for one in many}
        library["many answers"].append(_timed(search, partial(search.answer, answers)))
        server["many answers"].append(person.mark(many))
        acknowledged["many answers"].append(person.acknowledged)
        library["their undo"].append(_timed(search, search.undo))
        server["their undo"].append(person.undo())
        acknowledged["their undo"].append(person.acknowledged)
    return {
        name: _compared(library[name], server[name])
        | {
            "acknowledged": statistics.median(acknowledged[name]),
            "acknowledged_at_most": max(acknowledged[name]),
        }
        for name in library
    }


def _timed(search: ital.Search, change: Callable[[], object]) -> float:
    """Seconds of a change, and until there is a batch after it."""
    begun = time.perf_counter()
    change()
    search.suggest(4)
    return time.perf_counter() - begun


def opening(folder: Path, times: int) -> dict[str, float]:
    """Seconds from the start of a server until it answers, and until a search has begun there.

    And those that processors were at it, which say more where others use them as well.
    """
    answers, searches, busy = [], [], []
    for _ in range(times):
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with serving(folder) as url:
            answers.append(time.perf_counter() - begun)
            Person(url, 1)
            searches.append(time.perf_counter() - begun)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {
        "answers": statistics.median(answers),
        "searches": statistics.median(searches),
        "slowest": max(searches),
        "processors": statistics.median(busy),
    }


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

EMPTY = "<div style='height: 1000000px'></div>"
"""A page that takes nothing to draw: its frames tell how busy the machine is with other things."""

ANIMATE = """() => {
    const animate = () => requestAnimationFrame(animate);
    animate();
}"""
"""Something to do in every frame, whether there is anything to draw or not."""

OTHERS = """before => {
    const now = [...document.querySelectorAll("[data-testid=card]")].map((card) => card.dataset.id);
    return now.length > 0 && !now.some((id) => before.includes(id)) && now;
}"""


def search_by_clicks(page: Any, rounds: int) -> None:
    """From a picture of the grid to results, with answers to all questions on the way."""
    page.evaluate(ANIMATE)
    page.get_by_test_id("cell").first.click()
    page.get_by_test_id("find-like").click()
    asked: list[str] = []
    for number in range(rounds + 1):
        asked = page.wait_for_function(OTHERS, arg=asked).json_value()
        for identifier in asked if number < rounds else ():
            card = page.locator(f"[data-testid=card][data-id='{identifier}']")
            card.get_by_test_id("yes" if int(identifier) % 3 == 0 else "no").click()
    page.get_by_test_id("results").get_by_test_id("cell").first.wait_for()


def stolen() -> float:
    """Seconds for which other machines on the same host have had our processors; 0 if unknown."""
    try:
        fields = Path("/proc/stat").read_text().split()
    except OSError:
        return 0.0
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def frames(browser: Any, page: Any, act: Callable[[], object], kind: str) -> dict[str, float]:
    """Times between the frames that Chromium had meanwhile, by its own trace."""
    page.wait_for_timeout(1000)
    categories = ["-*", "disabled-by-default-devtools.timeline.frame", "devtools.timeline"]
    browser.start_tracing(page=page, categories=categories)
    before = stolen()
    act()
    taken = stolen() - before
    events = json.loads(browser.stop_tracing())["traceEvents"]
    begun = sorted(event["ts"] for event in events if event["name"] == kind)
    between = np.diff(begun) / 1000
    return {
        "frames": len(between),
        "median_ms": float(np.median(between)),
        "longest_ms": float(between.max()),
        "over_100_ms": int((between > 100).sum()),
        "stolen_seconds": taken,
    }


def scrolling(url: str, steps: int, rounds: int) -> dict[str, dict[str, float]] | None:
    """Frames of the grid, of a search and its results, and of an empty page before and after."""
    if not CHROMIUM.exists():
        return None
    from playwright.sync_api import sync_playwright

    found = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 860})

        def scrolled(pixels: int | None) -> dict[str, float]:
            return frames(
                browser, page, lambda: page.evaluate(SCROLL, [pixels, steps]), "DrawFrame"
            )

        page.set_content(EMPTY)
        found["an empty page"] = scrolled(WAYS["fast"])
        page.goto(url)
        page.wait_for_selector("[data-testid=cell] img")
        found |= {f"the grid, {way}": scrolled(pixels) for way, pixels in WAYS.items()}
        page.evaluate("scrollTo(0, 0)")
        found["a search"] = frames(
            browser, page, lambda: search_by_clicks(page, rounds), "FireAnimationFrame"
        )
        found["its results"] = scrolled(WAYS["fast"])
        page.goto("about:blank")
        page.set_content(EMPTY)
        found["an empty page again"] = scrolled(WAYS["fast"])
        browser.close()
    return found


def keep_alive(url: str, requests: int) -> dict[str, float]:
    """Requests a second over one connection."""
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


def filling(url: str, times: int) -> dict[str, float] | None:
    """Milliseconds from navigation to a screen full of thumbnails."""
    if not CHROMIUM.exists():
        return None
    from playwright.sync_api import sync_playwright

    taken = []
    with sync_playwright() as playwright:
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


def print_rounds(letter: str, pictures: int, report: dict[str, dict[str, float]]) -> None:
    """Medians, and from where to where half of the rounds were."""
    for until, one in report.items():
        server, library = (
            f"{1e3 * one[name]:.0f} ms ({1e3 * one[f'{name}_low']:.0f} to "
            f"{1e3 * one[f'{name}_high']:.0f})"
            for name in ("server", "library")
        )
        print(
            f"({letter}) {pictures:,} pictures, until the next {until}: {server} over HTTP, "
            f"{library} by the library: {one['ratio']:.2f}x"
        )


class Place:
    """A folder for collections, and the server that several parts ask."""

    def __init__(self, arguments: argparse.Namespace, folder: Path, until: ExitStack) -> None:
        self.folder = folder
        self._arguments, self._until = arguments, until

    @cached_property
    def large(self) -> Path:
        given = self._arguments
        return made(self.folder / "large", given.large, given.dimension, "float32")

    @cached_property
    def url(self) -> str:
        """Of the server of the large one."""
        return self._until.enter_context(serving(self.large))


def part_a(arguments: argparse.Namespace, place: Place) -> dict[str, Any]:
    report = against_library(place.large, place.url, arguments.rounds)
    print_rounds("a", arguments.large, report)
    return {"against_library": report}


def part_b(arguments: argparse.Namespace, place: Place) -> dict[str, Any]:
    small = made(place.folder / "small", arguments.small, arguments.dimension, "float32")
    one = many_users(small, arguments.users, arguments.rounds)
    print(
        f"(b) {arguments.users} users at once over {arguments.small:,}: slowest percentile "
        f"{one['slowest_percentile'] * 1e3:.0f} ms, one alone {one['alone'] * 1e3:.0f} ms: "
        f"{one['ratio']:.1f}x, {one['failures']} failures"
    )
    return {"many_users": one}


def part_c(arguments: argparse.Namespace, place: Place) -> dict[str, Any]:
    report = scrolling(place.url, arguments.frames, arguments.clicks)
    for what, one in (report or {}).items():
        print(
            f"(c) {arguments.large:,} pictures, {what}: median frame {one['median_ms']:.1f} ms, "
            f"longest {one['longest_ms']:.1f} ms, {one['over_100_ms']} over 100 ms of "
            f"{one['frames']}; other machines had our processors for {one['stolen_seconds']:.2f} s"
        )
    return {"scrolling": report}


def part_d(arguments: argparse.Namespace, place: Place) -> dict[str, Any]:
    report = keep_alive(place.url, arguments.requests)
    for name, speed in report.items():
        print(f"(d) {name} over one connection: {speed:,.0f} requests a second")
    return {"keep_alive": report}


def part_e(arguments: argparse.Namespace, place: Place) -> dict[str, Any]:
    one = filling(place.url, arguments.times)
    if one:
        print(
            f"(e) a screen of {one['thumbnails']} thumbnails is full after "
            f"{one['median_ms']:.0f} ms"
        )
    return {"filling": one}


def part_f(arguments: argparse.Namespace, place: Place) -> dict[str, Any]:
    folder = arguments.folder or place.folder / "million"
    made(folder, arguments.million, arguments.dimension, arguments.store)
    one = opening(folder, arguments.times)
    print(
        f"(f) {arguments.million:,} pictures: the server answers after {one['answers']:.1f} s, and "
        f"a search has begun after {one['searches']:.1f} s, {one['slowest']:.1f} s at the most; "
        f"processors were at it for {one['processors']:.1f} s"
    )
    with serving(folder) as url:
        report = against_library(folder, url, arguments.rounds)
    print_rounds("f", arguments.million, report)
    return {"million": {"opening": one, "against_library": report}}


def part_g(arguments: argparse.Namespace, place: Place) -> dict[str, Any]:
    report = marking(place.large, place.url, arguments.many, arguments.searches)
    for name, one in report.items():
        print(
            f"(g) {arguments.large:,} pictures, {arguments.many} marked at once, {name}: "
            f"safe after {one['acknowledged']:.2f} s, {one['acknowledged_at_most']:.2f} s at the "
            f"most, learnt after {one['server']:.2f} s; {one['library']:.2f} s by the library: "
            f"{one['ratio']:.2f}x"
        )
    return {"marking": report}


PARTS = {"a": part_a, "b": part_b, "c": part_c, "d": part_d, "e": part_e, "f": part_f, "g": part_g}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default="abcde", help="letters of what is measured, in order")
    parser.add_argument("--large", type=int, default=200_000)
    parser.add_argument("--small", type=int, default=20_000)
    parser.add_argument("--million", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--dimension", type=int, default=512)
    parser.add_argument("--store", choices=TYPES, default="float16", help="of (f)")
    parser.add_argument("--frames", type=int, default=600)
    parser.add_argument("--clicks", type=int, default=5, help="rounds of (c)")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--many", type=int, default=500, help="pictures that (g) marks at once")
    parser.add_argument("--searches", type=int, default=3, help="of (g)")
    parser.add_argument("--folder", type=Path, help="where (f) makes its pictures, or finds them")
    parser.add_argument("--out", type=Path, help="where to write JSON")
    arguments = parser.parse_args()
    report: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name, ExitStack() as until:
        place = Place(arguments, Path(name), until)
        for letter in arguments.parts:
            report |= PARTS[letter](arguments, place)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
