"""What the application and an open page cost while nobody uses them."""

import os
import time
from pathlib import Path

from tests.bench.browsing import Tab, browser
from tests.bench.crowd import served
from tests.bench.figures import Table
from tests.bench.place import Place

_SETTLING = 8.0
"""Seconds until all that begins with the application and with a page has been done."""


def table(place: Place, *, seconds: float = 30) -> Table:
    """Processor time of the program and of the page's main thread."""
    made = Table("Idle CPU", ("while nobody uses it", "of a core"))
    with served(place, "", 1) as studio, browser(place) as chromium:
        time.sleep(_SETTLING)
        made.add("application, no page open", _share(_program(studio.process, seconds), seconds))
        with Tab(chromium) as tab:
            tab.page.goto(studio.address)
            tab.page.wait_for_timeout(_SETTLING * 1000)
            before = tab.busy()
            spent = _program(studio.process, seconds)
            made.add("application, one page open", _share(spent, seconds))
            made.add("the open page", _share(tab.busy() - before, seconds))
    made.notes = ["Bar: 0.5 % each."]
    return made


def _program(pid: int, seconds: float) -> float:
    """Processor seconds that a process takes in the next ``seconds``."""
    before = _taken(pid)
    time.sleep(seconds)
    return _taken(pid) - before


def _taken(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _share(spent: float, seconds: float) -> str:
    return f"{spent / seconds:.2%}".replace("%", " %")
