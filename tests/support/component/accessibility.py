"""Accessibility, checked with axe-core."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

FADES_ENDED = """() => Promise.allSettled(document.getAnimations()
  .filter(({effect}) => effect.getComputedTiming().endTime < Infinity)
  .map(({finished}) => finished))"""
"""Waits for colours that are changing, as after a change of the colour scheme."""


def violations(page: Page, rules: list[str] | None = None, within: str | None = None) -> list[str]:
    """Return the serious and critical violations that it finds.

    Args:
        page: The page.
        rules: Some of the rules; all by default.
        within: A selector of the elements to check, without frames; the page by default.
    """
    page.evaluate(FADES_ENDED)
    options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    found = (
        Axe()
        .run(page, within, options | ({"iframes": False} if within else {}))
        .response["violations"]
    )
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]
