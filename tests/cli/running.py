"""Commands, as they are typed."""

from __future__ import annotations

from typer.testing import CliRunner

from ital.cli import app


def invoke(*arguments: object, **options):
    given = [str(one) for one in arguments]
    return CliRunner().invoke(app, given, env={"COLUMNS": "120"}, **options)
