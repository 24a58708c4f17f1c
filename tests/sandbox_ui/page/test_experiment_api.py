"""Comparisons over the Gradio API, called with the Gradio client."""

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from tests.support import httpx
from tests.support.comparisons import PLAIN, SANDBOX, ComparisonClient, statuses

pytestmark = pytest.mark.contract


def test_a_client_starts_a_comparison_and_waits(client: Client, studio_url: str) -> None:
    with httpx.Client(base_url=studio_url) as http:
        draft = ComparisonClient(http).draft(a=b"abc")
    comparison = client.predict(
        "How many?", [PLAIN, SANDBOX], 2, draft, {"kind": "number", "answer": "3"},
        api_name="/compare",
    )  # fmt: skip
    states = list(client.submit(comparison, api_name="/follow_comparison"))
    assert states[-1]["state"] == "finished"
    assert [each["name"] for each in states[-1]["inputs"]] == ["a.txt"]
    assert statuses(states[-1]) == [["answered"] * 2, ["submitted"] * 2]
    assert [run["score"] for run in states[-1]["members"][1]["runs"]] == [1.0, 1.0]


def test_a_failure_is_reported_with_its_message(client: Client) -> None:
    for arguments, name, message in (
        (("t", []), "/compare", "2 to 12 members"),
        (("t", "x"), "/compare", "members"),
        (("nothing-like-it",), "/stop_comparison", "no such comparison"),
    ):
        with pytest.raises(AppError, match=message):
            client.predict(*arguments, api_name=name)
