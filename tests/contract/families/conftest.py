"""A studio with process sandboxes, and the family of a test."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent import Settings, Studio, load_settings
from agent.data_folder import DataFolder
from tests.support.local_provider import LocalSandboxProvider
from tests.support.servers.families import resolve_hosts


def open_studio(data: Path) -> Studio:
    def provider(_settings: Settings, folder: DataFolder) -> LocalSandboxProvider:
        return LocalSandboxProvider(folder.path)

    return Studio(replace(load_settings({}), data=data, warm_sandboxes=0), provider)


@pytest.fixture(autouse=True)
def _hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_hosts(monkeypatch)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    with open_studio(tmp_path / "data") as studio:
        yield studio
