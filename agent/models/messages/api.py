"""Messages as an API; see ``agent.models.endpoint.api``."""

from collections.abc import Mapping

from agent.models.endpoint.api import CACHE_MARKS, Api
from agent.models.endpoint.families import Traits
from agent.models.endpoint.pictures import REFUSES_PICTURES
from agent.models.errors.failures import Failure, failure_in_chunk
from agent.models.messages.parameters import has_budget, parameters
from agent.models.messages.request import THINKING_FIRST, conversation
from agent.models.messages.stream import MessageParser

_STATUSES = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402,
    "permission_error": 403, "not_found_error": 404, "request_too_large": 413,
    "rate_limit_error": 429, "api_error": 500, "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip


def _known_changes(traits: Traits) -> tuple[str, ...]:
    needed = {CACHE_MARKS: traits.family == "claude", THINKING_FIRST: has_budget(traits)}
    return tuple(change for change, is_needed in needed.items() if is_needed)


def _failure(event: object) -> Failure | None:
    error = event.get("error") if isinstance(event, Mapping) else None
    status = _STATUSES.get(str(error.get("type"))) if isinstance(error, Mapping) else None
    if status is not None:
        return Failure(status, {"error": error}, streaming=True)
    return failure_in_chunk(event)


MESSAGES = Api(
    name="messages",
    path="/messages",
    root=lambda base_path: "" if base_path.endswith("/v1") else "/v1",
    headers={"anthropic-version": "2023-06-01"},
    parameters=parameters,
    conversation=conversation,
    parser=MessageParser,
    is_answer=lambda body: isinstance(body.get("content"), list),
    failure=_failure,
    known_changes=_known_changes,
    requirements=(REFUSES_PICTURES,),
)
"""Messages, of Anthropic and of the servers and gateways that offer it."""
