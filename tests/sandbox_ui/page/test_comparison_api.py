"""Comparisons over the Gradio API, called with the Gradio client."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from agent.settings import load
from tests.support import httpx
from tests.support.comparisons import PLAIN, SANDBOX, ComparisonClient, answer_by_mode, statuses
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint
from tests.support.server import create_app, run_server

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def studio_url(data: Path) -> Iterator[str]:
    with Endpoint(answer_by_mode) as endpoint:
        settings = replace(load({}), data=data, base_url=endpoint.url, model="test-model")
        with run_server(create_app(settings, LocalSandboxProvider(data))) as studio_url:
            yield studio_url


@pytest.fixture(scope="module")
def client(studio_url: str) -> Client:
    return Client(studio_url, verbose=False)


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
    with pytest.raises(AppError, match="2 to 6 members"):
        client.predict("t", [], api_name="/compare")
    with pytest.raises(AppError, match="members"):
        client.predict("t", "x", api_name="/compare")
    with pytest.raises(AppError, match="no such comparison"):
        client.predict("nothing-like-it", api_name="/stop_comparison")


def test_the_functions_are_documented(client: Client) -> None:
    endpoints = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    for name in ("/compare", "/follow_comparison", "/stop_comparison"):
        assert endpoints[name]["description"], name
