"""The protocol of an API: conversation to request body, events to pieces.

Implementations only map; ``agent.models.endpoint.client`` sends, bounds, records and cancels.

A body is ``{**parameters, **extra_body, "stream": True, **conversation}``. Only its parameters are
recorded: ``conversation`` must be a function of its arguments alone, since the request is built
again from the journal and compared byte for byte (``agent.runs.requests.body``). What it depends
on besides the messages and tools is in ``Writing``, which is recorded with each request.

What an API gives to be given back is ``OpaqueParts``, in any form that JSON allows. They do not
repeat the calls' arguments: each call's place is kept by a stub, which ``conversation`` fills
from ``AssistantMessage.calls`` in order, since ids and arguments may have been repaired.
``conversation`` uses them only where ``own_parts`` returns them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent.models.base import (
    ApiName,
    Message,
    ModelConfig,
    ToolSchema,
)
from agent.models.endpoint.families import Traits
from agent.models.endpoint.writing import Writing
from agent.models.errors.failures import Failure, failure_in_chunk

if TYPE_CHECKING:
    from agent.models.endpoint.answer import AnswerParser  # imports the transport

Body = dict[str, Any]

CACHE_MARKS = "cache marks"
"""The change that marks what to cache; no other may depend on later messages (``encoding``)."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The settings as fields of the body; ``left_out`` ones with a sentence for the user."""

    body: Body
    headers: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)


def sampling(config: ModelConfig, fixed: str, left_out: dict[str, str]) -> dict[str, float | None]:
    """Return temperature and top-p; if ``fixed`` says why not, they are ``left_out``."""
    asked = {"temperature": config.temperature, "top_p": config.top_p}
    if not fixed:
        return asked
    for name, value in asked.items():
        if value is not None:
            left_out[name] = f"“{name}” is not sent: {fixed}."
    return {}


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement that endpoints state in a refusal, and the change that fulfils it.

    ``applies`` says whether the body that was sent lacks it; ``any_status`` whether the refusal may
    have any status, as that of a chat template.
    """

    pattern: str
    change: str
    notice: str
    applies: Callable[[Body], bool]
    any_status: bool = False

    def is_stated(self, text: str) -> bool:
        """Whether a refusal states it."""
        return re.search(self.pattern, text, re.IGNORECASE | re.DOTALL) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One API: what its package does, as functions without a state.

    ``failure`` is what an event of a stream, or a body with status 200, reports; ``root`` what a
    base URL with a path lacks before the API's paths, as ``/v1``. The client adds the key to
    ``headers``, and ``extra_body`` to ``parameters``. Endpoints may reject ``message_fields``; the
    change named like one drops it.
    """

    name: ApiName
    path: str
    parameters: Callable[[ModelConfig, int | None, Traits], Parameters]
    conversation: Callable[[Sequence[Message], Sequence[ToolSchema], Writing], Body]
    parser: "Callable[[Writing, Sequence[ToolSchema]], AnswerParser]"
    is_answer: Callable[[Mapping[str, Any]], bool]
    failure: Callable[[object], Failure | None] = failure_in_chunk
    known_changes: Callable[[Traits], tuple[str, ...]] = lambda _: ()
    root: Callable[[str], str] = lambda _: ""
    headers: Mapping[str, str] = field(default_factory=dict)
    requirements: Sequence[Requirement] = ()
    message_fields: Sequence[str] = ()
