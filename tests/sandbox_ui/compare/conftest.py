"""A client of comparisons."""

from collections.abc import Iterator

import pytest

from tests.sandbox_ui.conftest import Script
from tests.support import httpx
from tests.support.comparisons import ComparisonClient


@pytest.fixture(scope="module")
def studio_url(scripted_url: str) -> str:
    return scripted_url


@pytest.fixture
def client(studio_url: str, script: Script) -> Iterator[ComparisonClient]:
    with httpx.Client(base_url=studio_url) as http:
        yield ComparisonClient(http)
