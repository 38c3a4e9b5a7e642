"""Writing a report into the folder of the runs."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from ital.evaluation import headline, plots, tables
from ital.evaluation.report.cases import cases
from ital.evaluation.tables import Calibrated, Row, Run

COLUMNS = {
    "rank": "rank",
    "strategy": "strategy",
    "area": "area",
    "interval": "±95 %",
    "p_value": "p against the best",
    "ndcg": "area (NDCG)",
    "found": "found",
    "found_per_question": "found per question",
    "published": "area as published",
    "paper": "paper",
    "difference": "difference",
    "seconds": "seconds a batch",
    "queries": "queries",
}

CALIBRATION = {
    "strategy": "strategy",
    "round": "after round",
    "brier": "Brier score",
    "log_loss": "log loss",
    "ratio": "expected / true",
    "coverage": "in 80 % interval",
}


def write(folder: Path, strategies: Sequence[str] | None = None) -> list[Path]:
    """Tables and curves of all runs in a folder: report.md, report.csv, report.html, pictures.

    ``strategies`` are those of `headline.png`, which is there for two data sets or more.
    """
    runs = tables.read(folder)
    pictures = headline.save(runs, folder, strategies)
    pictures += [path for run in runs for path in plots.save(run, folder)]
    markdown, sheet, page = (folder / f"report.{kind}" for kind in ("md", "csv", "html"))
    environment = Environment(
        loader=PackageLoader("ital.evaluation.report", "."),
        autoescape=select_autoescape(["html.jinja"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    known = {
        "runs": runs,
        "columns": columns,
        "calibration": _calibration,
        "text": text,
        "together": {
            rate: (some, tables.standings(some)) for rate, some in tables.alike(runs).items()
        },
        "calibration_titles": CALIBRATION,
        "last": _last(runs),
    }
    markdown.write_text(environment.get_template("report.md.jinja").render(known), encoding="utf-8")
    page.write_text(
        environment.get_template("report.html.jinja").render(known, plots=plots, cases=cases),
        encoding="utf-8",
    )
    _write_csv(runs, sheet)
    return [page, markdown, sheet, *pictures]


def columns(run: Run) -> dict[str, str]:
    """The columns of a run's table that say anything, with their titles."""
    return _telling(COLUMNS, run.rows)


def _calibration(run: Run) -> dict[str, str]:
    """The same of its table of calibrations."""
    return _telling(CALIBRATION, run.calibrated())


def _telling(titles: Mapping[str, str], rows: Sequence[Row | Calibrated]) -> dict[str, str]:
    return {
        column: title
        for column, title in titles.items()
        if any(getattr(row, column) is not None for row in rows)
    }


def _last(runs: list[Run]) -> list[tuple[Run, Row, Calibrated]]:
    """Every strategy of every run, as calibrated as it was in the end."""
    found = []
    for run in runs:
        # Later rounds take the place of earlier ones.
        in_the_end = {one.strategy: one for one in run.calibrated()}
        found += [
            (run, row, in_the_end[row.strategy]) for row in run.rows if row.strategy in in_the_end
        ]
    return found


def text(row: Row | Calibrated, column: str) -> str:
    """A value as it stands in a table."""
    value = getattr(row, column)
    if value is None:
        return ""
    match column:
        case "strategy" | "rank" | "queries" | "round":
            return str(value)
        case "p_value":
            return "< 0.001" if value < 0.001 else f"{value:.3f}"
        case "difference":
            return f"{value:+.4f}"
        case "found":
            return f"{value:.1f}"
        case "ratio" | "found_per_question":
            return f"{value:.2f}"
        case "coverage":
            return f"{100 * value:.0f} %"
        case _:
            return f"{value:.4f}"


def _write_csv(runs: list[Run], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["run", *COLUMNS, *(f"after_{number}" for number in tables.STAGES)])
        for run in runs:
            stages = run.stages()
            for row in run.rows:
                values = [getattr(row, column) for column in COLUMNS]
                values += [stages[row.strategy].get(number) for number in tables.STAGES]
                writer.writerow([run.name, *("" if value is None else value for value in values)])
