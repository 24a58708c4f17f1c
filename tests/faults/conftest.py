"""A data folder whose containers go with the test, and the runs on it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.sandbox.engine.client import Client
from agent.settings import Settings
from tests.faults.studio_app import (
    OpenApp,
    StudioApp,
    open_studio_app,
    remove_containers,
    settings_for,
)


@pytest.fixture
def settings(image: str) -> Settings:
    return settings_for(image)


@pytest.fixture
def data_path(tmp_path: Path, engine: Client) -> Iterator[Path]:
    """Where the data folder is."""
    yield tmp_path / "data"
    remove_containers(tmp_path / "data", engine)


@pytest.fixture
def open_app(data_path: Path, settings: Settings, engine: Client) -> OpenApp:
    return lambda **changes: open_studio_app(data_path, replace(settings, **changes), engine)


@pytest.fixture
def studio_app(open_app: OpenApp) -> Iterator[StudioApp]:
    with open_app() as studio_app:
        yield studio_app
