"""Forks of the Python API: a run that starts from a step of another one."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent import prompts
from agent.api import arguments
from agent.data_folder import candidate_folders
from agent.errors import RunError, UsageError
from agent.events import Mode
from agent.fork.cut import cut_run
from agent.fork.fork import first_task, fork_run
from agent.limits import Limits
from agent.models.base import Model
from agent.prompts import Prompt
from agent.run_fields import BY_NAME
from agent.runs.folder import RUN_NOT_FOUND, RunFolder
from agent.runs.recorded_run import NEEDS_MESSAGE, RecordedRun
from agent.traces.importing import import_file
from agent.util.stop import Stop
from agent.workspace.versions.blobs import BlobStore


@dataclass(frozen=True, slots=True)
class Wanted:
    """A fork to be made; without a message it goes on, or does the same task for step 0."""

    parent: RunFolder
    step: int
    message: str
    prompt: Prompt | None
    mode: Mode | None
    reinstall: bool


def import_parent(path: "os.PathLike[str]", place: Path, blobs: BlobStore) -> RunFolder:
    """Import an exported run or a trace, to be forked."""
    runs = import_file(Path(path), place, blobs=blobs)
    if len(runs) > 1:
        raise UsageError(f"{path} has {len(runs)} runs, all imported. Fork one of them by its id.")
    return RunFolder.open(place, runs[0].run)


def wanted(
    data: Path, run: object, step: object, message: object, prompt: object, mode: object,
    reinstall: bool,
) -> Wanted:  # fmt: skip
    """Check the arguments of ``Studio.fork``."""
    if not isinstance(step, int) or isinstance(step, bool) or step < 0:
        raise arguments.invalid_argument("step", step, "the number of a step, or 0")
    arguments.check_type("message", message, str, "a text")
    return Wanted(
        _find(data, run), step, str(message), _prompt(prompt),
        BY_NAME["mode"].check(mode), reinstall,
    )  # fmt: skip


def create(
    request: Wanted, data: Path, blobs: BlobStore, create_workspace: Callable[[], str]
) -> RunFolder:
    """Make the fork in a data folder; see ``agent.fork.fork.fork_run``."""
    silent = request.step and not request.message
    if silent and cut_run(request.parent, request.step).needs_message:
        raise UsageError(NEEDS_MESSAGE)
    return fork_run(
        request.parent, request.step, blobs, create_workspace, prompt=request.prompt,
        mode=request.mode, reinstall=request.reinstall, data=data,
    )  # fmt: skip


def begin(request: Wanted, recorded: RecordedRun, model: Model, limits: Limits, stop: Stop) -> Any:
    """Start the first round of a fork and return its events."""
    if request.step:
        return recorded.follow_up(request.message, model, limits, stop)
    task = first_task(request.parent, request.message, request.prompt, request.mode)
    return recorded.start(task, model, limits, stop)


def _find(data: Path, run: object) -> RunFolder:
    if isinstance(run, RunFolder):
        return run
    run_id = run if isinstance(run, str) else getattr(run, "id", None)
    if not isinstance(run_id, str):
        raise UsageError(f"run must be a run or its id, not {run!r:.80}.")
    for place in (data, *candidate_folders(data)):
        if run_id in RunFolder.ids(place):
            return RunFolder.open(place, run_id)
    raise RunError(RUN_NOT_FOUND)


def _prompt(value: object) -> Prompt | None:
    if value is None or value == "" or isinstance(value, Prompt):
        return value or None  # type: ignore[return-value]
    return prompts.load(str(arguments.path("prompt", value, "a prompt's name, a file or a Prompt")))
