"""The history of very many runs: building its database, listing, searching, and its memory."""

import multiprocessing
import random
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from agent.events import (
    Event,
    ModelAnswered,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    Totals,
    encode,
)
from agent.history.index import History
from agent.history.search import passages_of
from agent.runs.folder import RunFolder
from agent.runs.journal import read
from tests.bench.agent.memory import private_memory
from tests.bench.context import BenchContext, print_progress
from tests.bench.tables import SAMPLE_HEADINGS, Table, format_duration, format_megabytes, measure

_STEPS = 3
_OWNERS = 50
_SEARCHES = {
    "a word of 100 runs": "kingfisher",
    "a word of every second run": "estuary",
    "two words": "estuary kingfisher",
    "two letters": "kf",
    "no run": "xylophone",
}


def table(context: BenchContext, *, count: int = 100_000, times: int = 20) -> Table:
    """Write runs, index them in a process of its own, and measure the list and the search."""
    data = context.folder / "history"
    print_progress(f"history: writing {count:,} runs")
    write_runs(data, count)
    print_progress(f"history: indexing {count:,} runs")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        result = pool.apply(measure_history, (data, count, times))
    shutil.rmtree(data)
    return result


def measure_history(data: Path, count: int, times: int) -> Table:
    """Measure the history of a data folder that has no database."""
    result = Table(f"History of {count:,} runs", ("what", *SAMPLE_HEADINGS))
    before = private_memory()
    history = History(data)
    start = time.perf_counter()
    page = history.page()
    first = time.perf_counter() - start
    while history.indexer.backlog:
        history.indexer.update(60.0)
    built = time.perf_counter() - start
    assert len(page.entries) == min(count, 50)
    assert history.page().total == count
    size = (data / "history.sqlite").stat().st_size
    memory = private_memory() - before
    pages: dict[str, Callable[[], object]] = {
        "first page": history.page,
        "first page of one of 50 users": lambda: history.page(owner="u:7"),
        "sums for “Storage and limits”": history.totals,
    }
    pages |= {f"search: {name}": partial(history.page, words) for name, words in _SEARCHES.items()}
    for name, work in pages.items():
        result.add(name, *measure(work, times).cells())
    history.indexer.close()
    start = time.perf_counter()
    assert History(data).page().total == count
    again = time.perf_counter() - start
    result.notes = [
        f"Without a database, the first page takes {format_duration(first, 's')}, and all runs are "
        f"indexed after {format_duration(built, 's')} in a process that does nothing else (the "
        f"application leaves half of the time to others). The file has {format_megabytes(size)}, "
        f"the text {format_megabytes(count * _text_size(data))}. At the next start, the first "
        f"page, after a comparison with all journals, takes {format_duration(again, 's')}.",
        f"The private memory of the process grows by {format_megabytes(memory)} while it indexes, "
        f"and by {format_megabytes(private_memory() - before)} after all measurements.",
    ]
    return result


def _text_size(data: Path) -> float:
    """Return the mean size of the text of a run: of what is indexed."""
    sample = RunFolder.all(data)[:200]
    passages = (passages_of(event for _, event in read(each.journal)) for each in sample)
    return sum(len(text) for each in passages for *_, text in each) / len(sample)


def write_runs(data: Path, count: int) -> None:
    """Write ended runs of three steps, about 3 KB of text each, in words of English length."""
    random_ = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    words = [
        "".join(random_.choices(letters, range(26, 0, -1), k=random_.randint(2, 10)))
        for _ in range(20_000)
    ]
    for number in range(count):
        folder = RunFolder.create(data, "none", owner=f"u:{number % _OWNERS}")
        special = ["kingfisher"] * (number % max(1, count // 100) == 0) + ["estuary"] * (number % 2)
        events = _events(folder.id, number, lambda k: " ".join(random_.choices(words, k=k)))
        text = b"".join(encode(event) + b"\n" for event in events)
        folder.journal.write_bytes(text.replace(b"SPECIAL", " ".join(special).encode()))


def _events(run: str, number: int, text: Callable[[int], str]) -> list[Event]:
    at, totals = 1.7e9 + number, Totals(steps=_STEPS, prompt_tokens=9_000, generated_tokens=900)
    events: list[Event] = [
        RunStarted(
            run=run, task=text(30), mode="sandbox", model="model", metered=True, prompt="general",
            system="", user="", at=at,
        )
    ]  # fmt: skip
    for step in range(1, _STEPS + 1):
        call, command = f"call-{step}", text(6)
        events += [
            StepStarted(step=step, note="", at=at),
            ModelAnswered(
                step=step, text=text(15), reasoning=text(40), calls=(), finish="tool_calls",
                usage=None, estimated=True, seconds=1.0, at=at,
            ),
            ToolStarted(
                step=step, call_id=call, name="execute_bash", arguments={"command": command},
                summary=command, at=at,
            ),
            ToolOutput(step=step, call_id=call, stream="stdout", text=f"{text(60)} SPECIAL", at=at),
            ToolEnded(
                step=step, call_id=call, name="execute_bash", ok=True, exit_code=0,
                end_reason="exit", seconds=0.1, observation="", at=at,
            ),
            StepEnded(step=step, totals=totals, at=at),
        ]  # fmt: skip
    return [*events, RunEnded(status="submitted", reason="", answer=text(30), totals=totals, at=at)]
