"""Tests of training need the packages of requirements-train.txt: without them they are skipped."""

import os
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from agent.api.studio import Studio
from agent.errors import SandboxError
from agent.events import Event, Preparing
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.settings import Settings
from agent.util.stop import Stop
from tests.agent.train.tiny_model import make_tiny_model
from tests.support.local_provider import LocalSandboxProvider


@pytest.fixture(scope="session")
def training_packages() -> None:
    """Skip the test without the training packages; fail it if CI=true."""
    needed = ("torch", "trl", "transformers", "peft", "matplotlib")
    missing = [name for name in needed if not find_spec(name)]
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"{', '.join(missing)}: not installed; make .make/train installs it.")
    if missing:
        pytest.skip(f"needs requirements-train.txt: {', '.join(missing)} are not installed")
    import torch

    torch.set_num_threads(1)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    """A studio with process sandboxes."""
    settings = Settings(data=tmp_path / "data", warm_sandboxes=0)
    with Studio(settings, lambda _, data: LocalSandboxProvider(data.path)) as studio:
        yield studio


@pytest.fixture
def failing_studio(tmp_path: Path) -> Iterator[Studio]:
    """A studio that cannot create a sandbox."""
    settings = Settings(data=tmp_path / "failing", warm_sandboxes=0)
    with Studio(settings, lambda _, data: FailingProvider(data.path)) as studio:
        yield studio


class FailingProvider(LocalSandboxProvider):
    """A provider that cannot create a sandbox."""

    def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        del folder, stop
        yield Preparing(state="starting_sandbox")
        raise SandboxError("there is no engine")


@pytest.fixture(scope="session")
def tiny_model(training_packages: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny random model."""
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))
