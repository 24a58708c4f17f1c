"""A studio for evaluations whose model is a scripted endpoint."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.settings import load
from tests.sandbox_ui.compare.conftest import Script
from tests.support import httpx
from tests.support.evaluations.client import EvaluationClient, respond
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint
from tests.support.server import create_app, run_server


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
    """The endpoint's script: ``respond``, also after the test."""
    module_script.answer = respond
    endpoint.requests.clear()
    yield module_script
    module_script.answer = respond


@pytest.fixture
def client(studio_url: str, script: Script) -> Iterator[EvaluationClient]:
    with httpx.Client(base_url=studio_url, timeout=60) as http:
        yield EvaluationClient(http)
