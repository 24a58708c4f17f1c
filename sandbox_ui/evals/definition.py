"""The definition of an evaluation from a request, and its suites."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from agent.errors import UsageError
from agent.experiments import suites
from agent.experiments.experiment import Experiment, check
from agent.experiments.suite import Suite
from agent.runs.inputs import INPUT_FOLDER, list_inputs
from agent.settings import Settings
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from sandbox_ui.auth.user import User
from sandbox_ui.compare.definition import (
    judge_of,
    judge_request,
    members_of,
    require_models,
)
from sandbox_ui.compare.request import Participants
from sandbox_ui.evals.request import EvaluationRequest, SuiteRequest


def define(
    request: EvaluationRequest, loaded: Sequence[Suite], settings: Settings, user: User
) -> tuple[Experiment, Participants]:
    """Return an evaluation's definition and its members' requests."""
    members, requests = members_of(request.members, settings)
    judge = request.judge
    definition = Experiment(
        members=tuple(members),
        baseline=request.baseline,
        repetitions=request.repetitions,
        concurrency=request.at_once,
        judge=judge_of(judge, settings) if judge else None,
        owner=user.id,
    )
    check(definition, loaded)
    participants = Participants(
        requests, judge_request(judge.model, judge.base_url, judge.api_key) if judge else None
    )
    require_models(loaded[0].tasks[0].text, members, participants, settings, user)
    return definition, participants


@contextmanager
def loaded_suites(
    request: EvaluationRequest, uploads: Workspace | None, user: User
) -> Iterator[list[Suite]]:
    """Yield the suites that a request asks for; their documents are read within the block.

    Args:
        uploads: The files of its draft, if it has one.
        user: The user; only the operator may name data on the server.

    Raises:
        StudioError: if a suite does not exist, or its data is missing or invalid.
    """
    if any(each.path for each in request.suites) and not user.operator:
        raise UsageError("Only the operator may name data on the server. Upload the files instead.")
    with tempfile.TemporaryDirectory(prefix="suites-") as folder:
        if uploads is not None and any(each.upload for each in request.suites):
            _copy_uploads(uploads, Path(folder))
        yield [_load(each, Path(folder), request.limit) for each in request.suites]


def _load(asked: SuiteRequest, uploads: Path, limit: int | None) -> Suite:
    path = Path(asked.path).expanduser() if asked.path else None
    if asked.upload:
        path = uploads / _relative(asked.upload)
        if not path.exists():
            raise UsageError(f"{asked.name}: “{asked.upload}” was not uploaded.")
    suite = replace(suites.load(asked.name, path), extraction=asked.extraction)
    return suite if limit is None else suite.first(limit)


def _relative(path: str) -> str:
    """Return a path as it is, if it stays below the uploads. Raises ``WorkspaceError``."""
    return str(RelPath(path))


def _copy_uploads(workspace: Workspace, folder: Path) -> None:
    """Copy a draft's ``input/`` without following links. Raises ``WorkspaceError``."""
    for path in list_inputs(workspace):
        target = folder / str(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            workspace.open_read(RelPath(f"{INPUT_FOLDER}/{path}")) as file,
            target.open("wb") as copy,
        ):
            shutil.copyfileobj(file, copy)
