"""A studio whose model is a scripted endpoint; packages name it ``studio_url``."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.comparisons import answer_by_mode
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import serve_studio


class Script:
    """What the endpoint answers: as usual, unless a test replaces ``answer``."""

    def __init__(self, usual: Callable[[dict[str, Any]], Turn]) -> None:
        self.usual = self.answer = usual

    def play(self, *turns: Turn) -> None:
        """Answer with these turns, one after the other."""
        remaining = iter(turns)
        self.answer = lambda _: next(remaining)

    def __call__(self, body: dict[str, Any]) -> Turn:
        return self.answer(body)


@pytest.fixture(scope="module")
def module_script() -> Script:
    return Script(answer_by_mode)


@pytest.fixture(scope="module")
def endpoint(module_script: Script) -> Iterator[Endpoint]:
    with Endpoint(module_script) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def scripted_settings() -> dict[str, Any]:
    """More settings of the studio."""
    return {}


@pytest.fixture(scope="module")
def scripted_url(
    endpoint: Endpoint, data: Path, scripted_settings: dict[str, Any]
) -> Iterator[str]:
    settings: dict[str, Any] = {"base_url": endpoint.url, "model": "test-model", "max_runs": 4}
    with serve_studio(data, **settings, **scripted_settings) as studio_url:
        yield studio_url


@pytest.fixture
def script(module_script: Script, endpoint: Endpoint) -> Iterator[Script]:
    """The endpoint's script, which answers as usual after the test."""
    endpoint.requests.clear()
    yield module_script
    module_script.answer = module_script.usual
