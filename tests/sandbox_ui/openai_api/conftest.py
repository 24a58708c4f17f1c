"""A studio that serves ``/v1``, whose model is a scripted endpoint, and OpenAI's own clients."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from agent.settings import load
from sandbox_ui.auth.tokens import Tokens
from tests.support import httpx
from tests.support.comparisons import answer_by_mode
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import TIMEOUT_SECONDS, create_app, run_server


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
    settings = replace(
        load({}),
        data=data,
        base_url=endpoint.url,
        model="test-model",
        max_runs=4,
        openai_api=True,
        round_seconds=600.0,
    )
    with run_server(create_app(settings, LocalSandboxProvider(data))) as studio_url:
        yield studio_url


@pytest.fixture(scope="module")
def token(data: Path, studio_url: str) -> str:
    return Tokens(data).create("", "test")[1]


@pytest.fixture
def script(module_script: Script, endpoint: Endpoint) -> Iterator[Script]:
    """The endpoint's script, which is as before after the test."""
    module_script.answer = answer_by_mode
    endpoint.requests.clear()
    yield module_script
    module_script.answer = answer_by_mode


@pytest.fixture
def http(studio_url: str, token: str, script: Script) -> Iterator[httpx.Client]:
    """A client of the studio without OpenAI's library."""
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=studio_url, headers=headers, timeout=TIMEOUT_SECONDS) as http:
        yield http


@pytest.fixture
def client(studio_url: str, token: str, script: Script) -> Iterator[OpenAI]:
    """OpenAI's client, which repeats nothing."""
    base_url = f"{studio_url}/v1"
    with OpenAI(base_url=base_url, api_key=token, timeout=TIMEOUT_SECONDS, max_retries=0) as client:
        yield client
