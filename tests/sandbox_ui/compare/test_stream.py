"""One stream for a comparison and its runs."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from tests.sandbox_ui.conftest import Script
from tests.support.comparisons import PLAIN, SANDBOX, ComparisonClient, run_ids, statuses
from tests.support.server import ServerSentEvent, follow_run

pytestmark = pytest.mark.contract


def test_the_stream_carries_the_comparison_and_the_events_of_its_runs(
    client: ComparisonClient, script: Script
) -> None:
    gate = script.hold()
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
    with client.follow(described["id"], runs=run) as stream:
        found = list(islice(run_messages(stream), len(expected)))
    for own_message, multiplexed in zip(expected, found, strict=True):
        assert multiplexed["run"] == run
        assert multiplexed["event"] == own_message.name
        assert multiplexed["id"] == (int(own_message.cursor) if own_message.cursor else None)
        assert _without_clock(multiplexed["data"]) == _without_clock(own_message.data)


def _without_clock(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "now"}


def test_a_deleted_run_is_announced_and_the_stream_ends_with_the_comparison(
    client: ComparisonClient,
) -> None:
    described = client.run_to_end(PLAIN, PLAIN)
    run = run_ids(described)[0]
    with client.follow(described["id"]) as stream:
        assert next(stream).name == "comparison"
        client.http.delete("/api/runs", params={"run": run}).raise_for_status()
        changed = next(
            each.data
            for each in stream
            if each.name == "comparison" and each.data["members"][0]["runs"][0]["deleted"]
        )
        assert not changed["members"][1]["runs"][0]["deleted"]
        client.http.delete(f"/api/comparisons/{described['id']}").raise_for_status()
        for _ in stream:
            pass


def run_messages(stream: Iterator[ServerSentEvent]) -> Iterator[dict[str, Any]]:
    """Yield the messages of a comparison's runs."""
    return (message.data for message in stream if message.name == "run")


def test_the_latest_repetitions_or_chosen_runs_are_followed(client: ComparisonClient) -> None:
    described = client.run_to_end(PLAIN, PLAIN, repetitions=2)
    comparison, run = described["id"], run_ids(described)[0]
    latest = {member["runs"][-1]["run"] for member in described["members"]}
    followed: set[str] = set()
    with client.follow(comparison) as stream:
        for message in run_messages(stream):
            followed.add(message["run"])
            if len(followed) == 2:
                break
    assert followed == latest
    of_another = run_ids(client.run_to_end(PLAIN, PLAIN))[0]
    with client.follow(comparison, runs=f"{of_another},{run}") as stream:
        assert next(run_messages(stream))["run"] == run
    with client.follow(comparison, runs=run, cursor=f"{run}:0") as stream:
        message = next(run_messages(stream))
    assert message["event"] == "message"
    assert message["data"]["events"][0]["kind"] == "run_started"
    too_many = ",".join(f"run-{number}" for number in range(30))
    for query in ({"runs": too_many}, {"cursor": "x"}, {"cursor": "x:" + "9" * 30}):
        answer = client.http.get(f"/api/comparisons/{comparison}/events", params=query)
        assert answer.status_code == 400, query
