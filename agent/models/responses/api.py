"""Responses as an API; see ``agent.models.endpoint.api``."""

from collections.abc import Mapping

from agent.models.endpoint.api import Api, Requirement
from agent.models.endpoint.pictures import REFUSES_PICTURES
from agent.models.errors.failures import Failure, failure_in_chunk
from agent.models.responses.request import DEVELOPER, PICTURES_AFTER, conversation, parameters
from agent.models.responses.stream import ResponseParser

_INSTRUCTIONS_REFUSED = Requirement(
    r"instructions\b.{0,60}not (?:be )?(?:supported|allowed|accepted)",
    DEVELOPER,
    "This endpoint does not accept “instructions”; the system prompt is sent as a message.",
    lambda body: "instructions" in body,
)

_PICTURES_AFTER = Requirement(
    r"output\b.{0,80}(?:valid string|must be a string|should be a string|expected a string|"
    r"not of type 'string')",
    PICTURES_AFTER,
    "This endpoint takes no pictures in results; they are sent in a message after them.",
    lambda body: any(isinstance(item.get("output"), list) for item in body["input"]),
)


def _failure(event: object) -> Failure | None:
    if not isinstance(event, Mapping):
        return None
    if event.get("type") == "error" and not event.get("error"):
        return failure_in_chunk({"error": {**event, "type": event.get("code")}})
    response = event.get("response")
    if event.get("type") == "response.failed" and isinstance(response, Mapping):
        return failure_in_chunk({"error": response.get("error") or "no reason given"})
    return failure_in_chunk(event)


RESPONSES = Api(
    name="responses",
    path="/responses",
    parameters=parameters,
    conversation=conversation,
    parser=ResponseParser,
    is_answer=lambda body: isinstance(body.get("output"), list),
    failure=_failure,
    requirements=(_INSTRUCTIONS_REFUSED, _PICTURES_AFTER, REFUSES_PICTURES),
)
"""Responses, of OpenAI and of servers that follow Open Responses."""
