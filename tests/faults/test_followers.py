"""Whoever looks on is slow, asleep, or two hundred: the run and the others feel nothing of it."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from agent.events import RunEnded, RunStarted, StepStarted, TextDelta, Totals
from agent.runs.folder import RunFolder
from agent.runs.journal import Journal
from tests.support.server import ServerSentEvent, follow_run, wait_until

STARTED = RunStarted(
    run="r", task="t", mode="sandbox", model="m", metered=True, prompt="", system="", user=""
)
ENDED = RunEnded(status="answered", reason="", answer="a", totals=Totals())
MANY, TEXTS = 200, 400


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    limits = httpx.Limits(max_connections=None)
    with httpx.Client(base_url=address, limits=limits) as client:
        yield client


@pytest.fixture
def run(client: httpx.Client) -> str:
    made: str = client.post("/api/runs").json()["run"]
    return made


@pytest.fixture
def journal(data: Path, run: str) -> Iterator[Journal]:
    journal = Journal(RunFolder.open(data, run).journal)
    journal.append(STARTED)
    journal.append(StepStarted(step=1, note=""))
    yield journal
    journal.close()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def write(journal: Journal, size: int) -> None:
    for number in range(TEXTS):
        journal.append(TextDelta(step=1, text=f"{number} ".ljust(size)))
    journal.append(ENDED)


def numbers(told: Iterator[ServerSentEvent]) -> list[int]:
    """The texts that a follower gets, until the run has ended."""
    found: list[int] = []
    for message in told:
        for event in message.data.get("events", ()):
            if event["kind"] == "run_ended":
                return found
            found += [int(event["text"])] if event["kind"] == "text_delta" else []
    return found


def test_who_reads_nothing_holds_nobody_up_and_gets_it_all_in_the_end(
    address: str, client: httpx.Client, run: str, journal: Journal
) -> None:
    write(journal, 50_000)
    data_path = urlsplit(address)
    assert data_path.hostname
    assert data_path.port
    with socket.socket() as slow:
        slow.connect((data_path.hostname, data_path.port))
        asked = f"GET /api/runs/{run}/events?cursor=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        slow.sendall(asked.encode())
        with follow_run(client, run, "0") as told:
            assert numbers(told) == list(range(TEXTS))
        slow.settimeout(20)
        heard = b""
        while b'"run_ended"' not in heard[-200_000:]:
            part = slow.recv(1 << 20)
            assert part, "the stream ended"
            heard += part
    assert len(heard) > 50_000 * TEXTS


def test_who_slept_goes_on_where_they_were(
    client: httpx.Client, run: str, journal: Journal
) -> None:
    with follow_run(client, run) as told:
        cursor = next(told).cursor
    write(journal, 100)
    with follow_run(client, run, cursor) as told:
        assert numbers(told) == list(range(TEXTS))


def test_two_hundred_tabs_are_all_told_and_leave_nothing_open(
    client: httpx.Client, run: str, journal: Journal
) -> None:
    before = open_files()
    with ExitStack() as tabs:
        told = [tabs.enter_context(follow_run(client, run)) for _ in range(MANY)]
        assert all(next(each).name == "state" for each in told)
        write(journal, 10)
        client.delete(f"/api/runs/{run}/links")  # wakes whoever follows
        assert all(numbers(each) == list(range(TEXTS)) for each in told)
    client.close()
    wait_until(lambda: open_files() <= before)
