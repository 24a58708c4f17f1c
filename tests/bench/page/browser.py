"""The browser, and what is asked of its pages."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from playwright.sync_api import Browser, Error, Page, sync_playwright

from tests.bench.agent.memory import private_memory
from tests.bench.context import TIMEOUT_SECONDS, BenchContext
from tests.support.browser import CHROMIUM, FLAGS

_SCRIPT = Path(__file__).with_suffix(".js")


@contextmanager
def launch_browser(context: BenchContext) -> Iterator[Browser]:
    """Chromium; its profile and Gradio's files are in the place's folder meanwhile."""
    here = {"TMPDIR": str(context.folder), "GRADIO_TEMP_DIR": str(context.folder / "gradio")}
    with patch.dict(os.environ, here), sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield made
        finally:
            made.close()


@dataclass(frozen=True)
class PageMemory:
    """What a page holds.

    Attributes:
        elements: Elements in the document.
        heap_bytes: Bytes of its JavaScript heap, after a collection.
        private_bytes: Bytes of memory of the largest page process.
    """

    elements: int
    heap_bytes: int
    private_bytes: int


class PreviewNotShown(Exception):
    """A file has no preview here."""


class BrowserTab:
    """A tab of its own, with nothing in the cache, that notes the marks it shows."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._context = browser.new_context(viewport={"width": 1280, "height": 860})
        self._context.set_default_timeout(TIMEOUT_SECONDS * 1000)
        self._context.add_init_script(path=_SCRIPT)
        self.page: Page = self._context.new_page()
        self._devtools = self._context.new_cdp_session(self.page)
        self._devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def __enter__(self) -> "BrowserTab":
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()

    def wait_for_marks(self, marks: range) -> list[float]:
        """When each mark came into the page, seconds since the epoch; waits for the last."""
        self.page.wait_for_function(f"() => bench.seen[{marks[-1]}]", polling=100)
        seen: dict[str, float] = self.page.evaluate("bench.seen")
        return [seen[str(mark)] for mark in marks]

    def busy_seconds(self) -> float:
        """Seconds that the page's main thread has worked so far."""
        return self._metrics()["TaskDuration"]

    def now_ms(self) -> float:
        """Milliseconds since the page began."""
        return float(self.page.evaluate("performance.now()"))

    def longest_task(self, since: float) -> float:
        """Seconds of the longest task since then; 0 where none was over 50 ms."""
        return float(self.page.evaluate("since => bench.longest(since)", since)) / 1000

    def memory(self) -> PageMemory:
        """What it holds once its waste is collected."""
        self._devtools.send("HeapProfiler.collectGarbage")
        return PageMemory(
            elements=self.page.evaluate("document.querySelectorAll('*').length"),
            heap_bytes=int(self._metrics()["JSHeapUsedSize"]),
            private_bytes=self._private(),
        )

    def time_until(self, condition: str) -> float:
        """Seconds from the page's beginning to the first frame where a condition holds.

        A page whose files the browser dropped loads itself again; then the second one is timed.
        """
        while True:
            try:
                return float(self.page.evaluate(f"bench.first(() => {condition})")) / 1000
            except Error as error:
                if "context was destroyed" not in error.message:
                    raise

    def first_paint(self) -> float:
        """Seconds from the page's beginning to its first paint with any content."""
        entry = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        return float(self.page.evaluate(entry)) / 1000

    def disable_cache(self) -> None:
        """From now on keep nothing that was fetched."""
        self._devtools.send("Network.enable")
        self._devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})

    def time_preview(self, name: str) -> float:
        """Click on a file; seconds to the first frame in which its preview is seen.

        Raises:
            PreviewNotShown: none is seen within a minute.
        """
        found = self.page.evaluate("name => bench.look(name)", name)
        if found is None:
            raise PreviewNotShown(name)
        return float(found) / 1000

    def _metrics(self) -> dict[str, float]:
        answer = self._devtools.send("Performance.getMetrics")
        return {each["name"]: each["value"] for each in answer["metrics"]}

    def _private(self) -> int:
        devtools = self._browser.new_browser_cdp_session()
        info: dict[str, Any] = devtools.send("SystemInfo.getProcessInfo")
        devtools.detach()
        pages = [each["id"] for each in info["processInfo"] if each["type"] == "renderer"]
        return max(private_memory(process) for process in pages)
