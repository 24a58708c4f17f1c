"""The built-in model in plain mode: the same weights, without the adapter for the tools."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.events import RunEnded
from agent.limits import Limits, adapt_to_model
from agent.models.builtin.install import BUILTIN_BASE_NAME
from agent.models.builtin.model import BuiltinModel, create_builtin_model
from agent.models.builtin.worker import CONTEXT_TOKENS
from agent.prompts import get_bundled
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from tests.support.local_provider import LocalSandboxProvider

pytestmark = [pytest.mark.contract, pytest.mark.builtin, pytest.mark.timeout(300)]
SMALL = get_bundled("small")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RecordedRun]:
    provider = LocalSandboxProvider(tmp_path)
    folder = RunFolder.create(tmp_path, provider.create_workspace())
    with RecordedRun(folder, provider) as run:
        yield run


@pytest.fixture
def model() -> BuiltinModel:
    model = create_builtin_model()
    if model is None:
        pytest.skip("the built-in model is not installed (requirements-builtin.txt)")
    return model


def test_the_run_names_the_weights_that_answered(run: RecordedRun, model: BuiltinModel) -> None:
    limits = adapt_to_model(Limits(), model)
    task = Task("What is the capital of France?", SMALL, "plain")
    *_, first = run.start(task, model, limits)
    assert isinstance(first, RunEnded)
    assert "Paris" in first.answer
    *_, second = run.follow_up("And of Italy?", model, limits)
    assert isinstance(second, RunEnded)
    assert (first.status, second.status) == ("answered", "answered")
    assert run.state.model == BUILTIN_BASE_NAME


def test_a_document_that_does_not_fit_is_refused_whole(
    run: RecordedRun, model: BuiltinModel
) -> None:
    document = "A line of the logbook.\n" * CONTEXT_TOKENS
    (run.folder.workspace / "input" / "logbook.txt").write_text(document)
    task = Task("What is line 301 of logbook.txt?", SMALL, "plain")
    *_, end = run.start(task, model, adapt_to_model(Limits(), model))
    assert isinstance(end, RunEnded)
    assert (end.status, end.answer) == ("token_limit", "")
    assert "Nothing was cut off" in end.reason
    assert f"the model's context has {CONTEXT_TOKENS:,}" in end.reason
