"""Accessibility, checked with axe-core."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def violations(page: Page, rules: list[str] | None = None) -> list[str]:
    """Return the serious and critical violations that it finds, with all rules or some."""
    options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]
