"""Results on disk, each as soon as there is one.

A run is a folder: `settings.json`, and for each strategy a file of results, one line each. A line
that was cut short by a crash is dropped when the run goes on. When all queries are there the lines
are put in order, so that the file does not tell which was finished first. Seconds, which no two
runs share, have a file of their own.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ital.evaluation.experiment import Result, Settings, Unit


class Journal:
    """The folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, settings: Settings) -> None:
        """Begin, or go on with a run of the same settings; strategies may be added to it."""
        path = self.folder / "settings.json"
        if path.exists():
            before = self.settings().to_json()
            now = settings.to_json()
            different = [name for name in now if name != "strategies" and now[name] != before[name]]
            if different:
                raise ValueError(
                    f"out must be a new folder, or one of a run with the same settings; "
                    f"{self.folder} has "
                    + ", ".join(f"{name} {before[name]!r}, not {now[name]!r}" for name in different)
                )
            merged = dict.fromkeys([*before["strategies"], *now["strategies"]])
            settings = Settings.from_json({**now, "strategies": list(merged)})
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise ValueError(f"out must be a new folder or that of a run, got {self.folder}")
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in self.folder.glob("*/*.jsonl"):
            # A line that was cut short must not become the beginning of the next one.
            os.truncate(file, file.read_bytes().rfind(b"\n") + 1)
        _write(path, json.dumps(settings.to_json(), indent=1) + "\n")

    def settings(self) -> Settings:
        path = self.folder / "settings.json"
        try:
            return Settings.from_json(json.loads(path.read_text()))
        except FileNotFoundError:
            message = f"{self.folder} must be the folder of a run, but has no {path.name}"
            raise ValueError(message) from None
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path} must hold the settings of a run, but: {error}") from error

    def add(self, unit: Unit, result: Result, seconds: list[float]) -> None:
        """Put a result on disk."""
        line = {"task": unit.task, "place": unit.place, "seconds": seconds}
        _append(self._path(unit.strategy, "seconds"), line)
        _append(self._path(unit.strategy, "results"), asdict(result))

    def results(self, strategy: str) -> list[Result]:
        """All whole results of a strategy, in order."""
        lines = _lines(self._path(strategy, "results"))
        unique = {(line["task"], line["place"]): Result(**line) for line in lines}
        return [unique[key] for key in sorted(unique)]

    def seconds(self, strategy: str) -> list[float]:
        """What batches took, all rounds of all queries."""
        lines = _lines(self._path(strategy, "seconds"))
        # A crash may have come between the seconds and the result of a query.
        unique = {(line["task"], line["place"]): line["seconds"] for line in lines}
        return [one for seconds in unique.values() for one in seconds]

    def finish(self, strategy: str) -> None:
        """Put the results of a strategy in order."""
        lines = [_line(asdict(result)) for result in self.results(strategy)]
        _write(self._path(strategy, "results"), "".join(lines))

    def _path(self, strategy: str, kind: str) -> Path:
        safe = re.sub(r"[^a-z0-9_.=-]+", "_", strategy.lower())
        return self.folder / kind / f"{safe}.jsonl"


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
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line) for line in whole.splitlines()]


def _write(path: Path, text: str) -> None:
    """Replace a file as a whole."""
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
