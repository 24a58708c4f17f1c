"""Tests of training need the packages of requirements-train.txt: without them they are skipped."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.agent.train.tiny_model import make_tiny_model


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


@pytest.fixture(scope="session")
def tiny_model(training_packages: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny random model."""
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))
