"""Accessibility, checked with axe-core."""

from collections.abc import Sequence

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.support.component.stage import Look, Stage

FADES_ENDED = """() => Promise.allSettled(document.getAnimations()
  .filter(({effect}) => effect.getComputedTiming().endTime < Infinity)
  .map(({finished}) => finished))"""
"""Waits for colours that are changing, as after a change of the colour scheme."""


def check_accessible(stage: Stage, part: str, looks: Sequence[Look] = ()) -> None:
    """Assert that a part has no violations and that the page fits its width, in each look."""
    for look in looks or [stage.look]:
        stage.change_look(look)
        stage.page.evaluate(FADES_ENDED)
        found = Axe().run(stage.page, part, {"resultTypes": ["violations"]})
        assert found.violations_count == 0, found.generate_report()
        assert stage.page.evaluate("document.documentElement.scrollWidth") <= look.size[0]


def violations(page: Page, rules: list[str] | None = None, within: str | None = None) -> list[str]:
    """Return the serious and critical violations, optionally of some rules or within a selector."""
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
