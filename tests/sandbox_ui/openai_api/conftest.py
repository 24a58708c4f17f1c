"""A studio that serves ``/v1``, whose model is a scripted endpoint, and OpenAI's own clients."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from sandbox_ui.auth.api_tokens import Tokens
from tests.sandbox_ui.conftest import Script
from tests.support import httpx
from tests.support.server import TIMEOUT_SECONDS

PLAIN, SANDBOX = "test-model", "test-model@sandbox"
ASK: Any = [{"role": "user", "content": "How many characters are in the file?"}]


def chat(client: OpenAI, model: str = SANDBOX, messages: Any = ASK, **options: Any) -> Any:
    """Ask for a chat completion."""
    return client.chat.completions.create(model=model, messages=messages, **options)


def respond(client: OpenAI, text: Any = "Go", model: str = SANDBOX, **options: Any) -> Any:
    """Ask for a response."""
    return client.responses.create(model=model, input=text, **options)


@pytest.fixture(scope="module")
def scripted_settings() -> dict[str, Any]:
    return {"openai_api": True, "round_seconds": 600.0}


@pytest.fixture(scope="module")
def studio_url(scripted_url: str) -> str:
    return scripted_url


@pytest.fixture(scope="module")
def token(data: Path, studio_url: str) -> str:
    return Tokens(data).create("", "test")[1]


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
