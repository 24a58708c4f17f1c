"""The definition of an experiment from a request, its suites, and its members' options."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from agent.errors import ModelRefused, RunError, UsageError
from agent.experiments import suites as known_suites
from agent.experiments.combine.extend import with_members
from agent.experiments.experiment import (
    ExpectedAnswer,
    Experiment,
    Judge,
    Member,
    check,
)
from agent.experiments.folder import ExperimentFolder
from agent.experiments.members import complete
from agent.experiments.suite import Suite
from agent.experiments.suites import presets
from agent.models import parameters
from agent.models.builtin.install import BUILTIN_ID
from agent.models.parameters import InvalidValue
from agent.models.transport.base_url import parse_base_url, same_endpoint
from agent.runs.inputs import INPUT_FOLDER, list_inputs
from agent.runs.spec import RunSpec
from agent.settings import Settings
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from sandbox_ui.auth.user import User
from sandbox_ui.experiments.request import (
    ComparisonRequest,
    EvaluationRequest,
    ExpectedRequest,
    ExtendRequest,
    JudgeRequest,
    KeyRequest,
    Participants,
    ResumeRequest,
    SuiteRequest,
)
from sandbox_ui.runs.service import RunRequest, prepare

_NOT_OF_MEMBERS = ("task", "inputs", "image")


def define(
    request: ComparisonRequest | EvaluationRequest,
    suites: Sequence[Suite] | None,
    settings: Settings,
    user: User,
) -> tuple[Experiment, Participants]:
    """Return the definition, without inputs, and the requests of the members and the judge."""
    members, wanted = members_of(request.members, settings)
    definition = Experiment(
        members=members,
        baseline=request.baseline,
        repetitions=request.repetitions,
        owner=user.id,
    )
    if isinstance(request, ComparisonRequest):
        judge = request.expected.judge if request.expected else None
        expected = _expected_of(request.expected, settings)
        definition = replace(definition, task=request.task.strip(), expected=expected)
    else:
        judge = request.judge
        stored = judge_of(judge, settings) if judge else None
        stored = stored and presets.follow_judge(stored, request.preset)
        definition = replace(definition, concurrency=request.at_once, judge=stored)
    check(definition, suites)
    participants = Participants(
        wanted, _judge_request(definition.judging, judge.base_url, judge.api_key) if judge else None
    )
    text = suites[0].tasks[0].text if suites else definition.task
    require_models(text, definition.members, participants, settings, user)
    return definition, participants


@contextmanager
def loaded_suites(
    request: EvaluationRequest | ExtendRequest, uploads: Workspace | None, user: User, preset: str
) -> Iterator[list[Suite]]:
    """Yield the suites that a request asks for; their documents are read within the block."""
    if any(each.path for each in request.suites) and not user.operator:
        raise UsageError("Only the operator may name data on the server. Upload the files instead.")
    with tempfile.TemporaryDirectory(prefix="suites-") as folder:
        if uploads is not None and any(each.upload for each in request.suites):
            _copy_uploads(uploads, Path(folder))
        yield [_load(each, Path(folder), request, preset) for each in request.suites]


def _load(
    asked: SuiteRequest, uploads: Path, request: EvaluationRequest | ExtendRequest, preset: str
) -> Suite:
    path = Path(asked.path).expanduser() if asked.path else None
    if asked.upload:
        path = uploads / str(RelPath(asked.upload))  # it stays below the uploads
        if not path.exists():
            raise UsageError(f"{asked.name}: “{asked.upload}” was not uploaded.")
    suite, limit = known_suites.load(asked.name, path), asked.limit or request.limit
    suite = presets.follow(suite if limit is None else suite.first(limit), preset)
    return replace(
        suite,
        extraction=asked.extraction or suite.extraction,
        repeat=asked.repeat or (suite.repeat if "repetitions" not in request.model_fields_set
                                else 0),
        parameters=parameters.checked(asked.parameters),
    )  # fmt: skip


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


def members_of(
    requests: Sequence[Mapping[str, Any]], settings: Settings
) -> tuple[tuple[Member, ...], list[RunRequest]]:
    """Return labelled members, which no demonstration answers for, and their models' requests."""
    parsed = [_parsed(at, each, settings) for at, each in enumerate(requests)]
    members = complete((member for member, _ in parsed), "")
    wanted = [
        _request_of(member, asked.spec.base_url, asked.key)
        for member, (_, asked) in zip(members, parsed, strict=True)
    ]
    return members, wanted


def _judge_request(judge: Judge | None, base_url: str | None, key: str) -> RunRequest | None:
    """Return the request with which a judge is called, at a URL with a query or its own."""
    if judge is None:
        return None
    asked = RunSpec(
        base_url=base_url, model=judge.model, mode="plain", temperature=judge.temperature,
        max_tokens=judge.max_tokens,
    )  # fmt: skip
    return RunRequest(asked, key)


def judge_of(asked: JudgeRequest, settings: Settings) -> Judge:
    """Return a judge as it is stored. Raises ``StudioError``."""
    return Judge(**asked.model_dump(exclude={"api_key"}) | {
        "model": asked.model.strip() or settings.model,
        "base_url": stored_url(asked.base_url, settings),
        "right": asked.right.strip(), "wrong": asked.wrong.strip(),
    })  # fmt: skip


def continued(
    folder: ExperimentFolder, request: ResumeRequest, settings: Settings, user: User
) -> Participants:
    """Return the requests with which an experiment is continued."""
    members, judge = folder.definition.members, folder.definition.judging
    url = judge.base_url or None if judge else None
    participants = Participants(
        _stored_requests(members, request.members, settings),
        _judge_request(judge, url, request.judge_api_key),
    )
    require_models(folder.tasks[0].text, members, participants, settings, user)
    return participants


def extended(
    folder: ExperimentFolder, request: ExtendRequest, preset: str, settings: Settings, user: User
) -> tuple[tuple[Member, ...], Judge | None, Participants]:
    """Return an evaluation's members with those that are new, its judge, and all requests."""
    known, judge, given = folder.definition.members, folder.definition.judge, request.judge
    if judge and given:
        raise UsageError(f"Answers are decided by {judge.model} already. Leave the judge out.")
    parsed = [_parsed(at, each, settings) for at, each in enumerate(request.members)]
    members = with_members(known, [member for member, _ in parsed])
    bare = [replace(each, label="") for each in known]
    asked = [each for member, each in parsed if replace(member, label="") not in bare]
    added = [
        _request_of(member, each.spec.base_url, each.key)
        for member, each in zip(members[len(known) :], asked, strict=True)
    ]
    if given:
        judge = presets.follow_judge(judge_of(given, settings), preset)
        judging = _judge_request(judge, given.base_url, given.api_key)
    else:
        judging = _judge_request(judge, (judge and judge.base_url) or None, request.judge_api_key)
    participants = Participants([*_stored_requests(known, request.keys, settings), *added], judging)
    require_models(folder.tasks[0].text, members, participants, settings, user)
    return members, judge, participants


def _stored_requests(
    members: Sequence[Member], keys: Sequence[KeyRequest], settings: Settings
) -> list[RunRequest]:
    """Return the requests of members that are known, with their keys."""
    given: dict[int, KeyRequest] = {}
    for each in keys:
        if not 0 <= each.index < len(members):
            raise UsageError(f"There is no member with the index {each.index}.")
        given[each.index] = each
    return [_stored_request(each, given.get(at), settings) for at, each in enumerate(members)]


def require_models(
    text: str,
    members: Sequence[Member],
    participants: Participants,
    settings: Settings,
    user: User,
) -> None:
    """Check that each member's model and prompt can be used, before any run is started."""
    for member, asked in zip(members, participants.members, strict=True):
        try:
            prepare(asked.for_task(text), settings, user)
        except (RunError, ModelRefused) as error:
            raise type(error)(f"{member.label}: {error}") from error
        except InvalidValue as error:
            raise InvalidValue(error.name, error.why, f"{member.label}: ") from error
        except UsageError as error:
            raise UsageError(f"{member.label}: {error}") from error


def stored_url(url: str | None, settings: Settings) -> str:
    """Return the URL as it is stored: empty for the studio's, and without a query."""
    url = "" if url is None else url.strip()
    if not url or same_endpoint(url, settings.base_url):
        return ""
    return parse_base_url(url).display_url


def _parsed(at: int, asked: Mapping[str, Any], settings: Settings) -> tuple[Member, RunRequest]:
    """Return a member as it is stored; without an endpoint, the built-in model answers."""
    given = dict(asked)
    label = given.pop("label", "")
    try:
        if not isinstance(label, str):
            raise InvalidValue("label", "must be a text")
        wanted = RunRequest.of(given)
        if extra := [name for name in _NOT_OF_MEMBERS if getattr(wanted.spec, name)]:
            raise InvalidValue(extra[0], "is not for members")
    except UsageError as error:
        raise UsageError(f"members[{at}]: {error}") from error
    spec = wanted.spec
    url = settings.base_url if spec.base_url is None else spec.base_url
    url = "" if spec.model == BUILTIN_ID else url
    values = {each.name: getattr(spec, each.name) for each in fields(spec)} | {
        "label": label.strip(),
        "base_url": stored_url(url, settings),
        "model": (spec.model or settings.model) if url else BUILTIN_ID,
    }
    return Member(**values), wanted


def _expected_of(asked: ExpectedRequest | None, settings: Settings) -> ExpectedAnswer | None:
    if asked is None:
        return None
    judge = judge_of(asked.judge, settings) if asked.judge else None
    return ExpectedAnswer(**asked.model_dump(exclude={"judge"}), judge=judge)


def _stored_request(member: Member, given: KeyRequest | None, settings: Settings) -> RunRequest:
    if given is None:
        return _request_of(member, None, "")
    url = given.base_url
    if url is not None and stored_url(url, settings) != member.base_url:
        raise UsageError(
            f"{member.label}: this is not the endpoint that was used before, "
            f"{member.base_url or 'the studio’s'}."
        )
    return _request_of(member, url, given.api_key)


def _request_of(member: Member, url: str | None, key: str) -> RunRequest:
    """Return the request to a member's model, at a URL with a query or at the stored one."""
    spec = member.spec()
    return RunRequest(spec if url is None else replace(spec, base_url=url), key)
