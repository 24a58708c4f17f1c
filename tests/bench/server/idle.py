"""CPU usage of the idle application and of an idle page."""

import os
import time
from pathlib import Path

from tests.bench.context import BenchContext
from tests.bench.page.browser import BrowserTab, launch_browser
from tests.bench.server.clients import serve_app
from tests.bench.tables import Table

_SETTLE_SECONDS = 8.0
"""Seconds until the application and a page have finished starting."""


def table(context: BenchContext, *, seconds: float = 30) -> Table:
    result = Table("Idle CPU", ("while nobody uses it", "of a core"))
    with serve_app(context, "", 1) as app, launch_browser(context) as chromium:
        time.sleep(_SETTLE_SECONDS)
        result.add(
            "application, no page open", _share(cpu_seconds_during(app.pid, seconds), seconds)
        )
        with BrowserTab(chromium) as tab:
            tab.page.goto(app.address)
            tab.page.wait_for_timeout(_SETTLE_SECONDS * 1000)
            before = tab.busy_seconds()
            cpu_seconds = cpu_seconds_during(app.pid, seconds)
            result.add("application, one page open", _share(cpu_seconds, seconds))
            result.add("the open page", _share(tab.busy_seconds() - before, seconds))
    result.notes = ["Bar: 0.5 % each."]
    return result


def cpu_seconds_during(pid: int, seconds: float) -> float:
    """Return the CPU seconds that a process uses in the next ``seconds``."""
    before = cpu_seconds(pid)
    time.sleep(seconds)
    return cpu_seconds(pid) - before


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _share(cpu_seconds: float, seconds: float) -> str:
    return f"{cpu_seconds / seconds:.2%}".replace("%", " %")
