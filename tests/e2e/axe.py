"""What axe has to say of a page."""

from __future__ import annotations


def serious(page) -> list[tuple[str, str]]:
    """What is serious or critical, each with the first element that it is about."""
    from axe_playwright_python.sync_playwright import Axe

    return [
        (one["id"], one["nodes"][0]["html"])
        for one in Axe().run(page).response["violations"]
        if one["impact"] in ("serious", "critical")
    ]
