"""Slow, disconnected and numerous followers do not affect the run or each other."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from agent.events import StepStarted, TextDelta
from agent.runs.folder import RunFolder
from agent.runs.journal import Journal
from tests.support import httpx
from tests.support.component.events import ended, started
from tests.support.server import ServerSentEvent, follow_run, wait_until

pytestmark = pytest.mark.nightly

FOLLOWERS, TEXT_COUNT = 200, 400


@pytest.fixture
def client(studio_url: str) -> Iterator[httpx.Client]:
    limits = httpx.Limits(max_connections=None)
    with httpx.Client(base_url=studio_url, limits=limits) as client:
        yield client


@pytest.fixture
def run(client: httpx.Client) -> str:
    run_id: str = client.post("/api/runs").json()["run"]
    return run_id


@pytest.fixture
def journal(data: Path, run: str) -> Iterator[Journal]:
    journal = Journal(RunFolder.open(data, run).journal)
    journal.append(started())
    journal.append(StepStarted(step=1, note=""))
    yield journal
    journal.close()


def open_file_count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def write_events(journal: Journal, size: int) -> None:
    for number in range(TEXT_COUNT):
        journal.append(TextDelta(step=1, text=f"{number} ".ljust(size)))
    journal.append(ended())


def received_numbers(stream: Iterator[ServerSentEvent]) -> list[int]:
    """Return the numbers in the received text deltas, up to the end of the run."""
    found: list[int] = []
    for message in stream:
        for event in message.data.get("events", ()):
            if event["kind"] == "run_ended":
                return found
            found += [int(event["text"])] if event["kind"] == "text_delta" else []
    return found


def test_a_slow_follower_delays_nobody_and_receives_everything(
    studio_url: str, client: httpx.Client, run: str, journal: Journal
) -> None:
    write_events(journal, 50_000)
    url = urlsplit(studio_url)
    assert url.hostname
    assert url.port
    with socket.socket() as slow_socket:
        slow_socket.connect((url.hostname, url.port))
        request = f"GET /api/runs/{run}/events?cursor=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        slow_socket.sendall(request.encode())
        with follow_run(client, run, "0") as stream:
            assert received_numbers(stream) == list(range(TEXT_COUNT))
        slow_socket.settimeout(20)
        received = b""
        while b'"run_ended"' not in received[-200_000:]:
            part = slow_socket.recv(1 << 20)
            assert part, "the stream ended"
            received += part
    assert len(received) > 50_000 * TEXT_COUNT


def test_two_hundred_followers_receive_everything_and_leave_no_open_files(
    client: httpx.Client, run: str, journal: Journal
) -> None:
    before = open_file_count()
    with ExitStack() as tabs:
        streams = [tabs.enter_context(follow_run(client, run)) for _ in range(FOLLOWERS)]
        assert all(next(each).name == "state" for each in streams)
        write_events(journal, 10)
        client.delete(f"/api/runs/{run}/links")  # notifies all followers
        assert all(received_numbers(each) == list(range(TEXT_COUNT)) for each in streams)
    client.close()
    wait_until(lambda: open_file_count() <= before)
