"""A request for a comparison or an evaluation, parsed strictly; its keys are never stored."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError
from pydantic.alias_generators import to_camel

from agent.errors import UsageError
from agent.grading.checks import Check, Extraction
from sandbox_ui.auth.access import Access

_Number = Annotated[float, Field(allow_inf_nan=False)]
_T = TypeVar("_T")
Few = Annotated[list[_T], Field(max_length=100), FailFast()]
"""A list that is checked quickly, whatever it has; how many there may be is checked later."""


class StrictRequest(BaseModel):
    """Fields in camel case, of exactly their types; others are refused."""

    model_config = ConfigDict(
        extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True,
        defer_build=True,  # until the first request: no start needs it
    )  # fmt: skip


class EndpointRequest(StrictRequest):
    """A model: its endpoint, None for the studio's, and its key."""

    model: str = ""
    base_url: str | None = None
    api_key: str = ""


class JudgeRequest(EndpointRequest):
    """A judge as a client asks for it."""

    prompt: str = ""
    votes: int = 1
    temperature: _Number | None = None
    max_tokens: int | None = None
    right: str = ""
    wrong: str = ""


class ExpectedRequest(StrictRequest):
    """The right answer as a client gives it."""

    kind: Check
    answer: str
    tolerance: _Number = 0.0
    relative: _Number = 0.0
    judge: JudgeRequest | None = None


class ExperimentRequest(StrictRequest):
    """What comparisons and evaluations share; ``inputs`` is a draft's id, or empty."""

    members: Few[dict[str, Any]]
    inputs: str = ""
    title: str = ""
    baseline: int = 0
    repetitions: int = 1


class ComparisonRequest(ExperimentRequest):
    """A comparison as a client asks for it."""

    task: str
    expected: ExpectedRequest | None = None


class SuiteRequest(StrictRequest):
    """A suite; without ``path``, which only the operator may name, or ``upload``, its sample.

    What is not given is the preset's, or else the evaluation's.
    """

    name: str
    path: str = Field("", max_length=4096)
    upload: str = Field("", max_length=4096)
    extraction: Extraction | None = None
    repeat: Annotated[int, Field(ge=0)] = 0
    limit: Annotated[int | None, Field(ge=1)] = None
    parameters: dict[str, Any] = {}


class EvaluationRequest(ExperimentRequest):
    """An evaluation as a client asks for it; its draft has the uploads."""

    suites: Few[SuiteRequest]
    at_once: int = 4
    limit: int | None = Field(None, ge=1)
    preset: str = ""
    judge: JudgeRequest | None = None


class KeyRequest(StrictRequest):
    """The key of a member, for continuing; its endpoint may have a query."""

    index: int
    api_key: str = ""
    base_url: str | None = None


class ResumeRequest(StrictRequest):
    """What a client gives to continue: keys, which are not stored."""

    members: Few[KeyRequest] = []
    judge_api_key: str = ""


class ExtendRequest(StrictRequest):
    """What is added to an evaluation: members and suites as for a new one, known ones' keys."""

    members: Few[dict[str, Any]] = []
    suites: Few[SuiteRequest] = []
    inputs: str = ""
    limit: int | None = Field(None, ge=1)
    judge: JudgeRequest | None = None
    keys: Few[KeyRequest] = []
    judge_api_key: str = ""


class MergeRequest(StrictRequest):
    """The ids of the evaluations that become one."""

    evaluations: Few[str]
    title: str = ""


def parse(kind: type[StrictRequest], body: Mapping[str, Any]) -> Any:
    """Return a request of a kind. Raises ``UsageError``, which names the field."""
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = "".join(
            f"[{each}]" if isinstance(each, int) else f".{each}" for each in first["loc"]
        )
        raise UsageError(f"{place.lstrip('.') or 'The request'}: {first['msg']}.") from error


def parse_own(kind: type[StrictRequest], body: Mapping[str, Any], access: Access) -> Any:
    """Return a request of a kind; the draft with its inputs must be the user's. See ``parse``."""
    asked: Any = parse(kind, body)
    if asked.inputs:
        access.require_edit(asked.inputs)
    return asked
