"""What the application and an open page cost while nobody uses them."""

import os
import time
from pathlib import Path

from tests.bench.context import BenchContext
from tests.bench.page.browser import BrowserTab, launch_browser
from tests.bench.server.clients import serve_app
from tests.bench.tables import Table

_SETTLE_SECONDS = 8.0
"""Seconds until all that begins with the application and with a page has been done."""


def table(context: BenchContext, *, seconds: float = 30) -> Table:
    """Processor time of the program and of the page's main thread."""
    made = Table("Idle CPU", ("while nobody uses it", "of a core"))
    with serve_app(context, "", 1) as studio, launch_browser(context) as chromium:
        time.sleep(_SETTLE_SECONDS)
        made.add(
            "application, no page open", _share(_cpu_seconds_during(studio.pid, seconds), seconds)
        )
        with BrowserTab(chromium) as tab:
            tab.page.goto(studio.address)
            tab.page.wait_for_timeout(_SETTLE_SECONDS * 1000)
            before = tab.busy_seconds()
            spent = _cpu_seconds_during(studio.pid, seconds)
            made.add("application, one page open", _share(spent, seconds))
            made.add("the open page", _share(tab.busy_seconds() - before, seconds))
    made.notes = ["Bar: 0.5 % each."]
    return made


def _cpu_seconds_during(pid: int, seconds: float) -> float:
    """Processor seconds that a process takes in the next ``seconds``."""
    before = _cpu_seconds(pid)
    time.sleep(seconds)
    return _cpu_seconds(pid) - before


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _share(spent: float, seconds: float) -> str:
    return f"{spent / seconds:.2%}".replace("%", " %")
