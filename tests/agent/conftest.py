"""A process sandbox, and a run that uses one."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun
from agent.sandbox.process import ProcessSandbox
from tests.support.local_provider import LocalSandboxProvider


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[ProcessSandbox]:
    with closing(ProcessSandbox(tmp_path / "sandbox")) as sandbox:
        yield sandbox


@pytest.fixture
def provider(tmp_path: Path) -> LocalSandboxProvider:
    return LocalSandboxProvider(tmp_path)


@pytest.fixture
def run(provider: LocalSandboxProvider) -> Iterator[RecordedRun]:
    """A run that has not begun."""
    folder = RunFolder.create(provider.data, provider.create_workspace())
    with RecordedRun(folder, provider) as run:
        yield run
