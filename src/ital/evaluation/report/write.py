"""Writing a report into the folder of the runs."""

from __future__ import annotations

import csv
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from ital.evaluation import plots, tables
from ital.evaluation.report.cases import cases
from ital.evaluation.tables import Row, Run

COLUMNS = {
    "rank": "rank",
    "strategy": "strategy",
    "area": "area",
    "interval": "±95 %",
    "p_value": "p against the best",
    "ndcg": "area (NDCG)",
    "published": "area as published",
    "paper": "paper",
    "difference": "difference",
    "seconds": "seconds a batch",
    "queries": "queries",
}


def write(folder: Path) -> list[Path]:
    """Tables and curves of all runs in a folder: report.md, report.csv, report.html, pictures."""
    runs = tables.read(folder)
    pictures = [path for run in runs for path in plots.save(run, folder)]
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
        "text": text,
        "standings": tables.standings(runs),
        "plain": [run for run in runs if run.is_plain],
    }
    markdown.write_text(environment.get_template("report.md.jinja").render(known), encoding="utf-8")
    page.write_text(
        environment.get_template("report.html.jinja").render(
            known, svg=plots.svg, ink={"light": plots.LIGHT, "dark": plots.DARK}, cases=cases
        ),
        encoding="utf-8",
    )
    _write_csv(runs, sheet)
    return [page, markdown, sheet, *pictures]


def columns(run: Run) -> dict[str, str]:
    """The columns of a run's table that say anything, with their titles."""
    return {
        column: title
        for column, title in COLUMNS.items()
        if any(getattr(row, column) is not None for row in run.rows)
    }


def text(row: Row, column: str) -> str:
    """A value as it stands in a table."""
    value = getattr(row, column)
    if value is None:
        return ""
    match column:
        case "strategy" | "rank" | "queries":
            return str(value)
        case "p_value":
            return "< 0.001" if value < 0.001 else f"{value:.3f}"
        case "difference":
            return f"{value:+.4f}"
        case _:
            return f"{value:.4f}"


def _write_csv(runs: list[Run], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["run", *COLUMNS])
        for run in runs:
            for row in run.rows:
                values = [getattr(row, column) for column in COLUMNS]
                writer.writerow([run.name, *("" if value is None else value for value in values)])
