"""A run with a process sandbox."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun
from tests.support.local_provider import LocalSandboxProvider


@pytest.fixture
def provider(tmp_path: Path) -> LocalSandboxProvider:
    return LocalSandboxProvider(tmp_path)


@pytest.fixture
def run(provider: LocalSandboxProvider) -> Iterator[RecordedRun]:
    """A run that has not begun."""
    folder = RunFolder.create(provider.data, provider.create_workspace())
    with RecordedRun(folder, provider) as run:
        yield run
