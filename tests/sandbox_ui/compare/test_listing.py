"""Comparisons in the list of runs."""

from typing import Any

import pytest
from gradio_client import Client

from tests.support.comparisons import PLAIN, SANDBOX, ComparisonClient, run_ids

pytestmark = pytest.mark.contract


def history(client: ComparisonClient, **query: Any) -> dict[str, Any]:
    listed: dict[str, Any] = client.http.get("/api/runs", params=query).json()
    return listed


def start_run(studio_url: str, task: str) -> str:
    gradio = Client(studio_url, verbose=False)
    run: str = gradio.predict(task, mode="plain", api_name="/start")
    list(gradio.submit(run, api_name="/follow"))
    return run


def test_a_comparison_is_one_row_that_unfolds_into_its_runs(client: ComparisonClient) -> None:
    described = client.run_to_end(PLAIN, SANDBOX, task="Count the herons.", title="Herons")
    comparison, url = described["id"], f"/api/comparisons/{described['id']}"
    listed = history(client)
    row = next(each for each in listed["comparisons"] if each["id"] == comparison)
    assert (row["kind"], row["title"], row["renamed"]) == ("comparison", "Herons", True)
    assert row["members"] == ["Without sandbox", "With sandbox"]
    assert row["state"] == "finished"
    assert row["verdict"] == described["verdict"]["text"]
    assert row["runs"] == run_ids(described)
    assert not {run["run"] for run in listed["runs"]} & set(row["runs"])
    unfolded = history(client, comparison=comparison)["runs"]
    assert {run["run"] for run in unfolded} == set(row["runs"])
    assert {run["comparison"] for run in unfolded} == {comparison}
    found = history(client, q="herons")
    assert [(each["id"], each["in_title"]) for each in found["comparisons"]] == [(comparison, True)]
    assert {run["run"] for run in found["runs"]} == set(row["runs"])
    assert history(client, q="pelicans")["comparisons"] == []
    client.http.patch(url, json={"pinned": True})
    assert [each["id"] for each in history(client, pinned=1)["comparisons"]] == [comparison]
    client.http.patch(url, json={"pinned": False})
    client.http.delete(url).raise_for_status()
    listed = history(client)
    assert comparison not in [each["id"] for each in listed["comparisons"]]
    assert set(row["runs"]) <= {run["run"] for run in listed["runs"]}


def test_pages_hold_runs_and_comparisons_in_one_order(
    client: ComparisonClient, studio_url: str
) -> None:
    expected: list[str] = []
    for number in range(3):
        expected.append(client.run_to_end(PLAIN, PLAIN, task=f"Compare {number}.")["id"])
        expected.append(start_run(studio_url, f"Run {number}."))
    found, before = list[str](), ""
    while len(found) < len(expected):
        page = history(client, limit=2, before=before)
        rows = [(each["at"], each["run"]) for each in page["runs"]]
        rows += [(each["at"], each["id"]) for each in page["comparisons"]]
        assert len(rows) == 2
        found += [row for _, row in sorted(rows, reverse=True)]
        before = page["next"]
    assert found == expected[::-1]


def test_selected_runs_remain_in_the_list(client: ComparisonClient, studio_url: str) -> None:
    runs = [start_run(studio_url, "The same.") for _ in range(2)]
    made = client.http.post("/api/comparisons/from-runs", json={"runs": runs}).json()["id"]
    listed = history(client)
    assert set(runs) <= {run["run"] for run in listed["runs"]}
    assert made in [each["id"] for each in listed["comparisons"]]
    assert {run["run"] for run in history(client, comparison=made)["runs"]} == set(runs)
