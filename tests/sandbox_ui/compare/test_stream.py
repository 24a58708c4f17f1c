"""One stream for a comparison and its runs."""

import threading
from typing import Any

import pytest

from tests.sandbox_ui.conftest import Script
from tests.support.comparisons import PLAIN, SANDBOX, ComparisonClient, run_ids, statuses
from tests.support.models.endpoint import Turn
from tests.support.server import follow_run

pytestmark = pytest.mark.contract


def test_the_stream_carries_the_comparison_and_the_events_of_its_runs(
    client: ComparisonClient, script: Script
) -> None:
    gate = threading.Event()
    script.answer = lambda _: Turn(text="It is 1.", gate=gate)
    comparison = client.create(PLAIN, PLAIN)
    ended: set[str] = set()
    with client.follow(comparison) as stream:
        first = next(stream)
        assert first.name == "comparison"
        assert first.data["state"] == "running"
        gate.set()
        described = first.data
        for message in stream:
            if message.name == "comparison":
                described = message.data
            elif _has_ended(message.data):
                ended.add(message.data["run"])
            if described["state"] == "finished" and ended == set(run_ids(described)):
                break
    assert statuses(described) == [["answered"], ["answered"]]


def _has_ended(message: dict[str, Any]) -> bool:
    """Whether a run's message has its end, as an event or in the first state."""
    data: dict[str, Any] = message["data"]
    if message["event"] == "state":
        return bool(data["state"]["state"] == "answered")
    return any(event["kind"] == "run_ended" for event in data.get("events", ()))


def test_a_run_message_is_one_of_the_run_s_own_stream(client: ComparisonClient) -> None:
    described = client.run_to_end(PLAIN, SANDBOX)
    run = run_ids(described)[1]
    with follow_run(client.http, run) as own:
        expected = [next(own), next(own)]
    found: list[dict[str, Any]] = []
    with client.follow(described["id"], runs=run) as stream:
        for message in stream:
            if message.name == "run":
                found.append(message.data)
            if len(found) == len(expected):
                break
    for own_message, multiplexed in zip(expected, found, strict=True):
        assert multiplexed["run"] == run
        assert multiplexed["event"] == own_message.name
        assert multiplexed["id"] == (int(own_message.cursor) if own_message.cursor else None)
        assert _without_clock(multiplexed["data"]) == _without_clock(own_message.data)


def _without_clock(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "now"}


def test_a_deleted_run_is_announced(client: ComparisonClient) -> None:
    described = client.run_to_end(PLAIN, PLAIN)
    run = run_ids(described)[0]
    with client.follow(described["id"]) as stream:
        assert next(stream).name == "comparison"
        client.http.delete("/api/runs", params={"run": run}).raise_for_status()
        described = next(
            each.data
            for each in stream
            if each.name == "comparison" and each.data["members"][0]["runs"][0]["deleted"]
        )
    assert not described["members"][1]["runs"][0]["deleted"]


def test_a_cursor_continues_a_run(client: ComparisonClient) -> None:
    described = client.run_to_end(PLAIN, PLAIN)
    run = run_ids(described)[0]
    with client.follow(described["id"], runs=run, cursor=f"{run}:0") as stream:
        message = next(each for each in stream if each.name == "run")
    assert message.data["event"] == "message"
    assert message.data["data"]["events"][0]["kind"] == "run_started"


def test_by_default_the_latest_repetitions_are_followed(client: ComparisonClient) -> None:
    described = client.run_to_end(PLAIN, PLAIN, repetitions=2)
    followed: set[str] = set()
    with client.follow(described["id"]) as stream:
        for message in stream:
            if message.name == "run":
                followed.add(message.data["run"])
            if len(followed) == 2:
                break
    assert followed == {member["runs"][-1]["run"] for member in described["members"]}


def test_runs_of_others_are_left_out(client: ComparisonClient) -> None:
    described, other = client.run_to_end(PLAIN, PLAIN), client.run_to_end(PLAIN, PLAIN)
    mine = run_ids(described)[0]
    with client.follow(described["id"], runs=f"{run_ids(other)[0]},{mine}") as stream:
        message = next(each for each in stream if each.name == "run")
    assert message.data["run"] == mine


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"runs": ",".join(f"run-{number}" for number in range(30))}, 400),
        ({"cursor": "x"}, 400),
        ({"cursor": "x:" + "9" * 30}, 400),
    ],
)
def test_a_wrong_query_is_refused(
    client: ComparisonClient, query: dict[str, str], status: int
) -> None:
    comparison = client.run_to_end(PLAIN, PLAIN)["id"]
    answer = client.http.get(f"/api/comparisons/{comparison}/events", params=query)
    assert answer.status_code == status


def test_the_stream_ends_when_the_comparison_is_deleted(client: ComparisonClient) -> None:
    comparison = client.run_to_end(PLAIN, PLAIN)["id"]
    with client.follow(comparison) as stream:
        next(stream)
        client.http.delete(f"/api/comparisons/{comparison}").raise_for_status()
        for _ in stream:
            pass
