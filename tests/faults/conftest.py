"""A data folder whose containers go with the test, and the runs on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.sandbox.engine.client import Client
from agent.settings import Settings
from tests.faults.world import World, clear, opened, settings_for


@pytest.fixture
def settings(image: str) -> Settings:
    return settings_for(image)


@pytest.fixture
def place(tmp_path: Path, engine: Client) -> Iterator[Path]:
    """Where the data folder is."""
    yield tmp_path / "data"
    clear(tmp_path / "data", engine)


@pytest.fixture
def world(place: Path, settings: Settings, engine: Client) -> Iterator[World]:
    with opened(place, settings, engine) as world:
        yield world
