"""Where screenshots of the last run are kept, to look at."""

from pathlib import Path

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
