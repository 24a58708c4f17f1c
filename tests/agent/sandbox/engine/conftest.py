"""A model for an application that is started on an engine."""

from collections.abc import Iterator

import pytest

from tests.support.models.endpoint import Endpoint, Turn


@pytest.fixture
def turns() -> list[Turn]:
    """The endpoint's answers in order; each test appends its own."""
    return []


@pytest.fixture
def model(turns: list[Turn]) -> Iterator[dict[str, str]]:
    """The settings of an application: the model's, and those of a small disk."""
    with Endpoint(lambda _: turns.pop(0)) as endpoint:
        yield {"OPENAI_BASE_URL": endpoint.url, "OPENAI_MODEL": "m", "STUDIO_DISK": "100 MB"}
