"""A client of the module's studio, and a draft with its folder and workspace."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.runs.folder import RunFolder
from tests.support import httpx


@pytest.fixture(scope="module")
def client(studio_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=studio_url, timeout=30) as client:
        yield client


@pytest.fixture
def run(client: httpx.Client) -> str:
    created: str = client.post("/api/runs").json()["run"]
    return created


@pytest.fixture
def folder(data: Path, run: str) -> RunFolder:
    return RunFolder.open(data, run)


@pytest.fixture
def workspace(folder: RunFolder) -> Path:
    return folder.workspace
