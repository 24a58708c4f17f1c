"""Messages as an API; see ``agent.models.endpoint.api``."""

from collections.abc import Mapping, Sequence

from agent.models.base import ApiName, Message, ModelConfig, ToolSchema
from agent.models.endpoint.api import CACHE_MARKS, Body, Parameters, Requirement, Writing
from agent.models.endpoint.families import Traits
from agent.models.errors.failures import Failure, failure_in_chunk
from agent.models.messages.parameters import has_budget, parameters
from agent.models.messages.request import THINKING_FIRST, conversation
from agent.models.messages.stream import MessageParser

_STATUSES = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402,
    "permission_error": 403, "not_found_error": 404, "request_too_large": 413,
    "rate_limit_error": 429, "api_error": 500, "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip


class MessagesApi:
    """Messages, of Anthropic and of the servers and gateways that offer it."""

    name: ApiName = "messages"
    path = "/messages"
    headers: Mapping[str, str] = {"anthropic-version": "2023-06-01"}
    requirements: Sequence[Requirement] = ()
    message_fields: Sequence[str] = ()

    def root(self, base_path: str) -> str:
        """See ``Api.root``."""
        return "" if base_path.endswith("/v1") else "/v1"

    def known_changes(self, traits: Traits) -> tuple[str, ...]:
        """See ``Api.known_changes``."""
        needed = {CACHE_MARKS: traits.family == "claude", THINKING_FIRST: has_budget(traits)}
        return tuple(change for change, is_needed in needed.items() if is_needed)

    def parameters(self, config: ModelConfig, limit: int | None, traits: Traits) -> Parameters:
        """See ``Api.parameters``."""
        return parameters(config, limit, traits)

    def conversation(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], writing: Writing
    ) -> Body:
        """See ``Api.conversation``."""
        return conversation(messages, tools, writing)

    def parser(self, writing: Writing, tools: Sequence[ToolSchema]) -> MessageParser:
        """See ``Api.parser``."""
        return MessageParser(writing, tools)

    def failure(self, event: object) -> Failure | None:
        """See ``Api.failure``."""
        error = event.get("error") if isinstance(event, Mapping) else None
        status = _STATUSES.get(str(error.get("type"))) if isinstance(error, Mapping) else None
        if status is not None:
            return Failure(status, {"error": error}, streaming=True)
        return failure_in_chunk(event)

    def is_answer(self, body: object) -> bool:
        """See ``Api.is_answer``."""
        return isinstance(body, Mapping) and isinstance(body.get("content"), list)
