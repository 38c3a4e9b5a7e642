"""What came of runs, to be read: Markdown, CSV, pictures, and one page for the browser."""

from ital.evaluation.report.write import columns, text, write

__all__ = ["columns", "text", "write"]
