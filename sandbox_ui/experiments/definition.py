"""The definition of an experiment from a request, its suites, and its members' options."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from agent.errors import ModelRefused, RunError, UsageError, WorkspaceError
from agent.experiments import suites as known_suites
from agent.experiments.combine.extend import Grown, grown, with_members
from agent.experiments.experiment import (
    ExpectedAnswer,
    Experiment,
    Judge,
    Member,
    check,
)
from agent.experiments.folder import ExperimentFolder
from agent.experiments.suite import Suite
from agent.experiments.suites import presets
from agent.models import parameters
from agent.models.builtin.install import BUILTIN_ID
from agent.models.parameters import InvalidValue
from agent.models.transport.base_url import parse_base_url, same_endpoint
from agent.runs.inputs import INPUT_FOLDER
from agent.settings import Settings
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.transfer.copy import copy_out
from sandbox_ui.auth.user import User
from sandbox_ui.experiments.request import (
    ComparisonRequest,
    EvaluationRequest,
    ExperimentRequest,
    ExtendRequest,
    JudgeRequest,
    KeyRequest,
    SuiteRequest,
)
from sandbox_ui.runs.service import RunRequest, prepare

_NOT_OF_MEMBERS = ("task", "inputs", "image")


@dataclass(frozen=True, slots=True)
class Participants:
    """The members and the judge of an experiment, and the requests that call them, with keys."""

    members: tuple[Member, ...]
    judge: Judge | None
    requests: Sequence[RunRequest]
    judge_request: RunRequest | None

    @classmethod
    def of(
        cls,
        settings: Settings,
        members: Sequence[Mapping[str, Any]] = (),
        judge: JudgeRequest | None = None,
        *,
        preset: str = "",
        known: Experiment | None = None,
        keys: Sequence[KeyRequest] = (),
        judge_key: str = "",
    ) -> Self:
        """Return a known experiment's participants, with their keys, and those asked for."""
        known_members, stored = (known.members, known.judging) if known else ((), None)
        added = members_of(members, settings, known_members)
        judge_url = None
        if judge and stored:
            raise UsageError(f"Answers are decided by {stored.model} already. Leave the judge out.")
        if judge:
            stored = presets.follow_judge(_judge_of(judge, settings), preset)
            judge_url, judge_key = judge.base_url, judge.api_key
        requests = _known_requests(known_members, keys, settings)
        return cls(
            members=(*known_members, *(member for member, _ in added)),
            judge=stored,
            requests=[*requests, *(request for _, request in added)],
            judge_request=_request_of(stored, judge_url, judge_key) if stored else None,
        )

    def check(self, text: str, settings: Settings, user: User) -> None:
        """Check that each member's model and prompt can be used, before any run is started."""
        for member, asked in zip(self.members, self.requests, strict=True):
            try:
                prepare(asked.for_task(text), settings, user)
            except (RunError, ModelRefused) as error:
                raise type(error)(f"{member.label}: {error}") from error
            except InvalidValue as error:
                raise InvalidValue(error.name, error.why, f"{member.label}: ") from error
            except UsageError as error:
                raise UsageError(f"{member.label}: {error}") from error


def define_comparison(
    request: ComparisonRequest, settings: Settings, user: User
) -> tuple[Experiment, Participants]:
    """Return a comparison's definition, without inputs, and its participants."""
    expected, answer = request.expected, None
    participants = Participants.of(settings, request.members, expected.judge if expected else None)
    if expected:
        given = expected.model_dump(exclude={"judge"})
        answer = ExpectedAnswer(**given, judge=participants.judge)
    definition = replace(
        _defined(request, participants, user), task=request.task.strip(), expected=answer
    )
    check(definition)
    participants.check(definition.task, settings, user)
    return definition, participants


def define_evaluation(
    request: EvaluationRequest, suites: Sequence[Suite], settings: Settings, user: User
) -> tuple[Grown, Participants]:
    """Return a new evaluation and its participants."""
    participants = Participants.of(settings, request.members, request.judge, preset=request.preset)
    definition = replace(
        _defined(request, participants, user),
        concurrency=request.at_once, judge=participants.judge,
    )  # fmt: skip
    check(definition, suites)
    participants.check(suites[0].tasks[0].text, settings, user)
    return Grown(definition, added=suites, suites=suites), participants


def _defined(request: ExperimentRequest, participants: Participants, user: User) -> Experiment:
    """Return the fields that comparisons and evaluations share."""
    return Experiment(
        members=participants.members, baseline=request.baseline,
        repetitions=request.repetitions, owner=user.id,
    )  # fmt: skip


def extended(
    folder: ExperimentFolder,
    request: ExtendRequest,
    suites: Sequence[Suite],
    preset: str,
    settings: Settings,
    user: User,
) -> tuple[Grown, Participants]:
    """Return an evaluation with the requested additions, and its participants."""
    participants = Participants.of(
        settings, request.members, request.judge, preset=preset,
        known=folder.definition, keys=request.keys, judge_key=request.judge_api_key,
    )  # fmt: skip
    participants.check(folder.tasks[0].text, settings, user)
    return grown(folder, participants.members, suites, participants.judge), participants


@contextmanager
def loaded_suites(
    request: EvaluationRequest | ExtendRequest, uploads: Workspace | None, user: User, preset: str
) -> Iterator[list[Suite]]:
    """Yield the suites that a request asks for; their documents are read within the block."""
    if any(each.path for each in request.suites) and not user.operator:
        raise UsageError("Only the operator may name data on the server. Upload the files instead.")
    with tempfile.TemporaryDirectory(prefix="suites-") as folder:
        if uploads is not None and any(each.upload for each in request.suites):
            report = copy_out(uploads, ROOT, Path(folder))
            if report.skipped:
                raise WorkspaceError(f"The data cannot be read whole. {report.skipped[0]}")
        yield [_load(each, Path(folder), request, preset) for each in request.suites]


def _load(
    asked: SuiteRequest, uploads: Path, request: EvaluationRequest | ExtendRequest, preset: str
) -> Suite:
    path = Path(asked.path).expanduser() if asked.path else None
    if asked.upload:
        path = uploads / INPUT_FOLDER / RelPath(asked.upload)  # it stays below the uploads
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


def members_of(
    requests: Sequence[Mapping[str, Any]], settings: Settings, known: Sequence[Member] = ()
) -> list[tuple[Member, RunRequest]]:
    """Return the members that are not known, labelled, and the requests that call their models."""
    if not requests:
        return []
    parsed = [_parsed(at, each, settings) for at, each in enumerate(requests)]
    members = with_members(known, [member for member, _ in parsed])
    bare = [replace(each, label="") for each in known]
    asked = [each for member, each in parsed if replace(member, label="") not in bare]
    return [
        (member, _request_of(member, each.spec.base_url, each.key))
        for member, each in zip(members[len(known) :], asked, strict=True)
    ]


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


def _known_requests(
    members: Sequence[Member], keys: Sequence[KeyRequest], settings: Settings
) -> list[RunRequest]:
    """Return the requests that call known members' models, at the endpoints that were used."""
    requests = [_request_of(each, None, "") for each in members]
    for each in keys:
        if not 0 <= each.index < len(members):
            raise UsageError(f"There is no member with the index {each.index}.")
        member, url = members[each.index], each.base_url
        if url is not None and stored_url(url, settings) != member.base_url:
            raise UsageError(
                f"{member.label}: this is not the endpoint that was used before, "
                f"{member.base_url or 'the studio’s'}."
            )
        requests[each.index] = _request_of(member, url, each.api_key)
    return requests


def _request_of(asked: Member | Judge, url: str | None, key: str) -> RunRequest:
    """Return the request to a participant's model, at a URL with a query or at the stored one."""
    spec = asked.spec()
    return RunRequest(spec if url is None else replace(spec, base_url=url), key)


def _judge_of(asked: JudgeRequest, settings: Settings) -> Judge:
    """Return a judge as it is stored. Raises ``StudioError``."""
    return Judge(**asked.model_dump(exclude={"api_key"}) | {
        "model": asked.model.strip() or settings.model,
        "base_url": stored_url(asked.base_url, settings),
        "right": asked.right.strip(), "wrong": asked.wrong.strip(),
    })  # fmt: skip


def stored_url(url: str | None, settings: Settings) -> str:
    """Return the URL as it is stored: empty for the studio's, and without a query."""
    url = "" if url is None else url.strip()
    if not url or same_endpoint(url, settings.base_url):
        return ""
    return parse_base_url(url).display_url
