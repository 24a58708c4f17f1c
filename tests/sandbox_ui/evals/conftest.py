"""A client of evaluations."""

from collections.abc import Iterator

import pytest

from tests.sandbox_ui.conftest import Script
from tests.support import httpx
from tests.support.evaluations.client import EvaluationClient, respond


@pytest.fixture(scope="module")
def module_script() -> Script:
    return Script(respond)


@pytest.fixture(scope="module")
def studio_url(scripted_url: str) -> str:
    return scripted_url


@pytest.fixture
def client(studio_url: str, script: Script) -> Iterator[EvaluationClient]:
    with httpx.Client(base_url=studio_url, timeout=60) as http:
        yield EvaluationClient(http)
