"""What the page's main thread does for each new step of a run that it follows."""

from collections.abc import Mapping

from tests.bench.context import BenchContext
from tests.bench.page.browser import BrowserTab, launch_browser
from tests.bench.page.script import PACE_SECONDS, EventSource

_NEW_STEPS = 20


def measure(context: BenchContext, steps: int) -> Mapping[str, float]:
    with launch_browser(context) as chromium:
        from tests.bench.page.pages import studio

        source = EventSource()
        data = context.folder / f"live-{steps}"
        with studio(data, source) as address, BrowserTab(chromium) as tab:
            tab.page.goto(address)
            tab.page.get_by_role("textbox", name="Task").fill("Measure.")
            tab.page.get_by_role("button", name="Run").click()
            for _ in range(0, steps, 50):
                tab.wait_for_marks(source.play(min(50, steps))[-1:])
            tab.page.evaluate("document.querySelector('.latest')?.click()")
            tab.page.wait_for_timeout(2000)  # what the many steps at once left to do
            before = tab.busy_seconds()
            tab.wait_for_marks(source.play(_NEW_STEPS, PACE_SECONDS)[-1:])
            return {"live step": (tab.busy_seconds() - before) / _NEW_STEPS}
