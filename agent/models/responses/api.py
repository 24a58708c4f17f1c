"""Responses as an API; see ``agent.models.endpoint.api``."""

import re
from collections.abc import Mapping, Sequence

from agent.models.base import ApiName, Message, ModelConfig, ToolSchema
from agent.models.endpoint.api import Body, Parameters, Requirement, Writing
from agent.models.endpoint.families import Traits
from agent.models.errors.failures import Failure, failure_in_chunk
from agent.models.responses.request import DEVELOPER, conversation, parameters
from agent.models.responses.stream import ResponseParser

_REQUIREMENTS = (
    Requirement(
        re.compile(r"instructions\b.{0,60}not (?:be )?(?:supported|allowed|accepted)", re.I),
        DEVELOPER,
        "This endpoint does not accept “instructions”; the system prompt is sent as a message.",
        lambda body: "instructions" in body,
    ),
)


class ResponsesApi:
    """Responses, of OpenAI and of servers that follow Open Responses."""

    name: ApiName = "responses"
    path = "/responses"
    headers: Mapping[str, str] = {}
    requirements: Sequence[Requirement] = _REQUIREMENTS
    message_fields: Sequence[str] = ()

    def root(self, _base_path: str) -> str:
        """See ``Api.root``."""
        return ""

    def known_changes(self, _traits: Traits) -> tuple[str, ...]:
        """See ``Api.known_changes``."""
        return ()

    def parameters(self, config: ModelConfig, limit: int | None, traits: Traits) -> Parameters:
        """See ``Api.parameters``."""
        return parameters(config, limit, traits)

    def conversation(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], writing: Writing
    ) -> Body:
        """See ``Api.conversation``."""
        return conversation(messages, tools, writing)

    def parser(self, writing: Writing, tools: Sequence[ToolSchema]) -> ResponseParser:
        """See ``Api.parser``."""
        return ResponseParser(writing, tools)

    def failure(self, event: object) -> Failure | None:
        """See ``Api.failure``."""
        if not isinstance(event, Mapping):
            return None
        if event.get("type") == "error" and not event.get("error"):
            return failure_in_chunk({"error": {**event, "type": event.get("code")}})
        response = event.get("response")
        if event.get("type") == "response.failed" and isinstance(response, Mapping):
            return failure_in_chunk({"error": response.get("error") or "no reason given"})
        return failure_in_chunk(event)

    def is_answer(self, body: object) -> bool:
        """See ``Api.is_answer``."""
        return isinstance(body, Mapping) and isinstance(body.get("output"), list)
