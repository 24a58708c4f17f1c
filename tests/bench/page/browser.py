"""The browser, and measurements of its pages."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from playwright.sync_api import Browser, Error, Page, sync_playwright

from tests.bench.context import TIMEOUT_SECONDS, BenchContext
from tests.support.browser.chromium import FLAGS, LAUNCHER

_SCRIPT = Path(__file__).with_suffix(".js")


@contextmanager
def launch_browser(context: BenchContext) -> Iterator[Browser]:
    """Run Chromium; its profile and Gradio's files are in the context's folder."""
    environment = {
        "TMPDIR": str(context.folder),
        "GRADIO_TEMP_DIR": str(context.folder / "gradio"),
    }
    with patch.dict(os.environ, environment), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=LAUNCHER, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class BrowserTab:
    """A new tab with an empty cache, which records when marks appear."""

    def __init__(self, browser: Browser) -> None:
        self._context = browser.new_context(viewport={"width": 1280, "height": 860})
        self._context.set_default_timeout(TIMEOUT_SECONDS * 1000)
        self._context.add_init_script(path=_SCRIPT)
        self.page: Page = self._context.new_page()
        self._devtools = self._context.new_cdp_session(self.page)
        self._devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._browser_devtools = browser.new_browser_cdp_session()

    def __enter__(self) -> "BrowserTab":
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()

    def wait_for_marks(self, marks: range) -> list[float]:
        """Wait for the last mark; returns when each appeared, in seconds since the epoch."""
        self.page.wait_for_function(f"() => bench.seen[{marks[-1]}]", polling=100)
        marks_shown: dict[str, float] = self.page.evaluate("bench.seen")
        return [marks_shown[str(mark)] for mark in marks]

    def busy_seconds(self) -> float:
        return self._metrics()["TaskDuration"]

    def browser_cpu_seconds(self) -> float:
        """Return the processor time of all of the browser's processes so far."""
        answer = self._browser_devtools.send("SystemInfo.getProcessInfo")
        return sum(float(each["cpuTime"]) for each in answer["processInfo"])

    def count_requests(self) -> int:
        """Return the number of the page's requests so far."""
        return 1 + int(self.page.evaluate("performance.getEntriesByType('resource').length"))

    def heap_bytes(self) -> int:
        """Return the bytes of the page's JavaScript heap after a garbage collection."""
        self._devtools.send("HeapProfiler.collectGarbage")
        return int(self._metrics()["JSHeapUsedSize"])

    def time_until(self, condition: str) -> float:
        """Return the seconds from the navigation to the first frame where a condition holds.

        A page whose files the browser dropped reloads itself; then the reload is timed.
        """
        while True:
            try:
                return float(self.page.evaluate(f"bench.first(() => {condition})")) / 1000
            except Error as error:
                if "context was destroyed" not in error.message:
                    raise

    def first_paint(self) -> float:
        """Return the seconds from the navigation to the first contentful paint."""
        entry = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        return float(self.page.evaluate(entry)) / 1000

    def add_latency(self, seconds: float) -> None:
        self._devtools.send("Network.enable")
        conditions = {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
        self._devtools.send(
            "Network.emulateNetworkConditions", {**conditions, "latency": seconds * 1000}
        )

    def _metrics(self) -> dict[str, float]:
        answer = self._devtools.send("Performance.getMetrics")
        return {each["name"]: each["value"] for each in answer["metrics"]}
