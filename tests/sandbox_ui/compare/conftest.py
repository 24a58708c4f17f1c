"""A studio whose model is a scripted endpoint."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.settings import load
from tests.support import httpx
from tests.support.comparisons import ComparisonClient, answer_by_mode
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import create_app, run_server


class Script:
    """What the endpoint answers; ``answer_by_mode`` unless a test replaces it."""

    def __init__(self) -> None:
        self.answer: Callable[[dict[str, Any]], Turn] = answer_by_mode

    def __call__(self, body: dict[str, Any]) -> Turn:
        return self.answer(body)


@pytest.fixture(scope="module")
def module_script() -> Script:
    return Script()


@pytest.fixture(scope="module")
def endpoint(module_script: Script) -> Iterator[Endpoint]:
    with Endpoint(module_script) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def studio_url(endpoint: Endpoint, data: Path) -> Iterator[str]:
    settings = replace(load({}), data=data, base_url=endpoint.url, model="test-model", max_runs=4)
    with run_server(create_app(settings, LocalSandboxProvider(data))) as studio_url:
        yield studio_url


@pytest.fixture
def script(module_script: Script, endpoint: Endpoint) -> Iterator[Script]:
    """The endpoint's script, which is as before after the test."""
    module_script.answer = answer_by_mode
    endpoint.requests.clear()
    yield module_script
    module_script.answer = answer_by_mode


@pytest.fixture
def client(studio_url: str, script: Script) -> Iterator[ComparisonClient]:
    with httpx.Client(base_url=studio_url) as http:
        yield ComparisonClient(http)
