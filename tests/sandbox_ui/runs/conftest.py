"""A manager of runs over the provider of a test file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_ui.runs.manager import RunManager
from tests.sandbox_ui.managed_runs import open_manager
from tests.support.local_provider import LocalSandboxProvider


@pytest.fixture
def runs(tmp_path: Path, provider: LocalSandboxProvider) -> Iterator[RunManager]:
    with open_manager(tmp_path, provider=provider) as runs:
        yield runs
