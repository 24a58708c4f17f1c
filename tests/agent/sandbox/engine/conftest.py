"""The answers of the model that an application on another engine uses."""

import pytest

from tests.support.models.endpoint import Turn


@pytest.fixture
def turns() -> list[Turn]:
    """The endpoint's answers in order; each test appends its own."""
    return []
