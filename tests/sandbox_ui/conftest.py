"""A studio whose model is a scripted endpoint; packages name it ``studio_url``."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox_ui.preview.service import PreviewService
from tests.sandbox_ui.accounts import signed_in
from tests.support import httpx
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

    def hold(self, held: Callable[[dict[str, Any]], bool] = lambda _: True) -> threading.Event:
        """Hold the usual answers to these requests back until the returned event is set."""
        gate = threading.Event()
        self.answer = lambda body: replace(self.usual(body), gate=gate if held(body) else None)
        return gate

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


@pytest.fixture(scope="module")
def worker() -> Iterator[PreviewService]:
    """Previews with the limits of their process."""
    service = PreviewService()
    service.open()
    yield service
    service.close()


@pytest.fixture
def ann(studio_url: str) -> Iterator[httpx.Client]:
    """A client of ann, in a studio with accounts."""
    with signed_in(studio_url, "ann") as client:
        yield client


@pytest.fixture
def bob(studio_url: str) -> Iterator[httpx.Client]:
    """A client of bob, in a studio with accounts."""
    with signed_in(studio_url, "bob") as client:
        yield client
