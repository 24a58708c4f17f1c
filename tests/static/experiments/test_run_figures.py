"""What a comparison shows of each member's run: its capabilities, its tokens."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from agent.capabilities.usage import CapabilityUsage
from agent.events import Event, encode
from agent.models.base import Usage
from agent.runs.folder import RunFolder
from tests.support import httpx
from tests.support.component.events import bash, ended, started, step
from tests.support.tab import open_studio

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

DOWNLOAD = CapabilityUsage(external="observed", hosts=("example.org",), programs=("curl",))
USAGE = Usage(1000, 100)
CALCULATION = CapabilityUsage(compute="parsed", programs=("python3",), file="parsed")


def compare(url: str, data: Path, *runs: Iterator[Event]) -> tuple[str, list[str]]:
    """Compare runs with these steps; returns the comparison's id and those of the runs."""
    ids = []
    for steps in runs:
        ids.append(httpx.post(f"{url}/api/runs").json()["run"])
        journal = RunFolder.open(data, ids[-1]).journal
        events = [started(), *steps, ended()]
        journal.write_bytes(b"".join(encode(event) + b"\n" for event in events))
    created = httpx.post(f"{url}/api/comparisons/from-runs", json={"runs": ids})
    return created.json()["id"], ids


def test_each_member_of_a_comparison_has_its_strip_and_its_tokens(
    browser: Browser, studio_url: str, data: Path
) -> None:
    steps = (step(1, bash("ls", used=used), usage=USAGE) for used in (DOWNLOAD, CALCULATION))
    comparison, runs = compare(studio_url, data, *steps)
    with open_studio(browser, studio_url) as studio:
        studio.page.goto(f"{studio_url}?compare={comparison}")
        strips = studio.page.locator(".member-columns .run-capabilities")
        expect(strips).to_have_count(2)
        expect(strips.nth(0).get_by_role("img")).to_have_accessible_name(
            "Capability usage of 1 step: external resources in 1, file management in 0, "
            "computation in 0"
        )
        strips.nth(1).get_by_role("button", name="Capabilities").click()
        expect(strips.nth(1).locator("tbody tr").nth(2)).to_contain_text("1 (100 %)")
        plot = studio.page.get_by_role("group", name="Tokens by step").nth(1)
        expect(plot.locator("canvas")).to_be_visible()
        plot.press("ArrowRight")
        plot.press("Enter")
        expect(studio.page.locator("#step-1.linked")).to_be_visible()
        assert f"run={runs[1]}" in studio.page.url
