"""Description of the machine that is measured."""

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path

from agent.sandbox.engine.client import Client


def heading(client: Client) -> str:
    engine = client.api.version()
    parts = [
        f"{_processor()}, {os.cpu_count()} cores, {_memory()} GB",
        f"Linux {platform.release().split('-')[0]}",
        f"Python {platform.python_version()}",
        f"Docker {engine['Version']}",
        f"gradio {version('gradio')}",
    ]
    return (
        f"## Measured on {time.strftime('%d %B %Y')}\n\n{'; '.join(parts)}.\n\n"
        "The interval is for the median, by order statistics; of fewer than 6 it is the whole "
        "range, which covers a little less than 95 %. Of fewer than 20 the 95th percentile is the "
        "largest. Warm-ups are not counted.\n"
    )


def load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(("model name", "Model")):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3)
