"""The history of very many runs: building its database, listing, searching, and its memory."""

import io
import multiprocessing
import random
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from agent.events import Event, Totals, encode
from agent.history.index import History
from agent.runs.folder import RunFolder
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import Delta, ManifestLog, Node
from tests.bench.agent.memory import private_memory
from tests.bench.context import BenchContext, print_progress
from tests.bench.tables import Table, format_duration, format_megabytes, measure, sample_table
from tests.support.component.events import bash, ended, started, step

_STEPS = 3
_OWNERS = 50
_SEARCHES = {
    "a word of 100 runs": "kingfisher",
    "a word of every second run": "estuary",
    "no run": "xylophone",
}


def table(context: BenchContext, *, count: int = 100_000, times: int = 20) -> Table:
    data = context.folder / "history"
    print_progress(f"history: writing {count:,} runs")
    write_runs(data, count)
    print_progress(f"history: indexing {count:,} runs")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        result = pool.apply(measure_history, (data, count, times))
    shutil.rmtree(data)
    return result


def measure_history(data: Path, count: int, times: int) -> Table:
    result = sample_table(f"History of {count:,} runs", "what")
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
    }
    pages |= {f"search: {name}": partial(history.page, words) for name, words in _SEARCHES.items()}
    for name, work in pages.items():
        result.add_sample(name, measure(work, times))
    history.indexer.close()
    result.notes = [
        f"Without a database, the first page takes {format_duration(first, 's')}, and all runs are "
        f"indexed after {format_duration(built, 's')} in a process that does nothing else (the "
        f"application leaves half of the time to others). The file has {format_megabytes(size)}. "
        f"The private memory of the process grows by {format_megabytes(memory)} meanwhile.",
    ]
    return result


def write_runs(data: Path, count: int, *, owners: int = _OWNERS) -> None:
    """Write ended runs of three steps, about 3 KB of text each, in words of English length.

    Each has a sandbox's id and a stored content of its own.
    """
    blobs = BlobStore(data / "blobs")
    random_ = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    words = [
        "".join(random_.choices(letters, range(26, 0, -1), k=random_.randint(2, 10)))
        for _ in range(20_000)
    ]
    for number in range(count):
        folder = RunFolder.create(data, f"sandbox-{number}", owner=f"u:{number % owners}")
        special = ["kingfisher"] * (number % max(1, count // 100) == 0) + ["estuary"] * (number % 2)
        events = _events(number, lambda k: " ".join(random_.choices(words, k=k)))
        text = b"".join(encode(event) + b"\n" for event in events)
        folder.journal.write_bytes(text.replace(b"SPECIAL", " ".join(special).encode()))
        digest, size = blobs.put(io.BytesIO(b"%d" % number), limit=100)
        stored = Delta({"output/a.txt": Node("file", size, 0o644, digest)})
        ManifestLog(folder.manifests).append(_STEPS, stored)


def _events(number: int, text: Callable[[int], str]) -> list[Event]:
    totals = Totals(steps=_STEPS, prompt_tokens=9_000, generated_tokens=900)
    events: list[Event] = [started(text(30), user="")]
    for at in range(1, _STEPS + 1):
        call = bash(text(6), f"{text(60)} SPECIAL", observation="")
        events += step(at, call, text=text(15), reasoning=text(40), totals=totals, seconds=1.0)
    events.append(ended(answer=text(30), totals=totals))
    return [replace(each, at=1.7e9 + number) for each in events]
