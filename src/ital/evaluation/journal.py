"""Results on disk, each as soon as there is one.

A run is a folder: `settings.json`, and for each strategy a file of results, one line each. A line
that was cut short by a crash is dropped when the run goes on. When all queries are there the lines
are put in order, so that the file does not tell which was finished first. Seconds, which no two
runs share, have a file of their own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from filelock import FileLock, Timeout

from ital.durable import write_whole
from ital.evaluation.calibration import Calibration
from ital.evaluation.experiment import Result, Settings, Unit

_SETTINGS, _LOCK = "settings.json", ".lock"
_OURS = (f".{_SETTINGS}", _LOCK)
"""How files of ours begin that may be in a folder without settings."""


class Journal:
    """The folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def begun(self, settings: Settings, total: int, features: str) -> Iterator[Self]:
        """Begin, or go on with a run of the same settings; strategies may be added to it.

        ``total`` is the number of queries to each strategy, and ``features`` a hash of the data. No
        other process can begin until this one ends, or dies.
        """
        path = self.folder / _SETTINGS
        if not path.exists() and self.folder.exists():
            # What a crash left of the very beginning is nothing.
            others = [one.name for one in self.folder.iterdir() if not one.name.startswith(_OURS)]
            if others:
                raise ValueError(
                    f"out must be a new folder or that of a run, but {self.folder} holds {others}"
                )
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            lock = FileLock(self.folder / _LOCK, timeout=0).acquire()
        except Timeout:
            raise ValueError(f"another process is writing to {self.folder}") from None
        with lock:
            self._begin(path, {**settings.to_json(), "total": total, "features": features})
            yield self

    def _begin(self, path: Path, now: dict[str, Any]) -> None:
        if path.exists():
            settings, about = self._content()
            before = {**settings.to_json(), **about}
            different = [name for name in now if name != "strategies" and before[name] != now[name]]
            if different:
                raise ValueError(
                    f"out must be a new folder, or one of a run with the same settings; "
                    f"{self.folder} has "
                    + ", ".join(f"{name} {before[name]!r}, not {now[name]!r}" for name in different)
                )
            now["strategies"] = list(dict.fromkeys([*before["strategies"], *now["strategies"]]))
        for file in self.folder.glob("*/*.jsonl"):
            # A line that was cut short must not become the beginning of the next one.
            os.truncate(file, file.read_bytes().rfind(b"\n") + 1)
        write_whole(path, json.dumps(now, indent=1) + "\n")

    def settings(self) -> Settings:
        return self._content()[0]

    def total(self) -> int | None:
        """Queries to each strategy, when all are finished."""
        total: int | None = self._content()[1]["total"]
        return total

    def features(self) -> str | None:
        """The hash of the data."""
        features: str | None = self._content()[1]["features"]
        return features

    def _content(self) -> tuple[Settings, dict[str, Any]]:
        path = self.folder / _SETTINGS
        try:
            content = json.loads(path.read_text())
            about = {name: content.pop(name, None) for name in ("total", "features")}
            return Settings.from_json(content), about
        except FileNotFoundError:
            message = f"{self.folder} must be the folder of a run, but has no {path.name}"
            raise ValueError(message) from None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{path} must hold the settings of a run, but: {error}") from error

    def add(self, unit: Unit, result: Result, seconds: list[float]) -> None:
        """Put a result on disk."""
        line = {"task": unit.task, "place": unit.place, "seconds": seconds}
        _append(self._path(unit.strategy, "seconds"), line)
        _append(self._path(unit.strategy, "results"), _content(result))

    def results(self, strategy: str) -> list[Result]:
        """All whole results of a strategy, in order."""
        lines = _lines(self._path(strategy, "results"))
        unique = {(line["task"], line["place"]): _result(line) for line in lines}
        return [unique[key] for key in sorted(unique)]

    def seconds(self, strategy: str) -> list[float]:
        """What batches took, all rounds of all queries."""
        lines = _lines(self._path(strategy, "seconds"))
        # A crash may have come between the seconds and the result of a query.
        unique = {(line["task"], line["place"]): line["seconds"] for line in lines}
        return [one for seconds in unique.values() for one in seconds]

    def finish(self, strategy: str) -> None:
        """Put the results of a strategy in order."""
        lines = [_line(_content(result)) for result in self.results(strategy)]
        write_whole(self._path(strategy, "results"), "".join(lines))

    def _path(self, strategy: str, kind: str) -> Path:
        return self.folder / kind / f"{quote(strategy, safe='=,')}.jsonl"


def _content(result: Result) -> dict[str, Any]:
    """A result as it stands in a file, where one without calibration stays as it was written."""
    content = asdict(result)
    if result.calibration is None:
        del content["calibration"]
    return content


def _result(content: dict[str, Any]) -> Result:
    measured = content.pop("calibration", None)
    states = None if measured is None else [Calibration(*state) for state in measured]
    return Result(**content, calibration=states)


def _line(content: dict[str, Any]) -> str:
    return json.dumps(content) + "\n"


def _append(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(_line(content))
        file.flush()
        os.fsync(file.fileno())


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    lines = path.read_bytes().rpartition(b"\n")[0].splitlines()
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            found.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"{path} must hold results, but line {number}: {error}") from error
    return found
