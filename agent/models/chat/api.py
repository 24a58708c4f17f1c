"""Chat Completions as an API; see ``agent.models.endpoint.api``."""

from collections.abc import Mapping, Sequence

from agent.models.base import ApiName, Message, ModelConfig, ToolSchema
from agent.models.chat import changes
from agent.models.chat.parameters import parameters
from agent.models.chat.request import message_bodies, tool_bodies
from agent.models.chat.requirements import REQUIREMENTS
from agent.models.chat.stream import StreamParser
from agent.models.endpoint.api import CACHE_MARKS, Body, Parameters, Writing
from agent.models.endpoint.families import Traits
from agent.models.errors.failures import Failure, failure_in_chunk

_MARKED_AT_OPENROUTER = ("claude",)


class ChatApi:
    """Chat Completions, as OpenAI defined it and most servers speak it."""

    name: ApiName = "chat"
    path = "/chat/completions"
    headers: Mapping[str, str] = {}
    requirements = REQUIREMENTS
    message_fields = changes.DROPPED_FIELDS

    def root(self, _base_path: str) -> str:
        """See ``Api.root``."""
        return ""

    def known_changes(self, traits: Traits) -> tuple[str, ...]:
        """See ``Api.known_changes``."""
        if traits.service == "mistral":
            return changes.OF_MISTRAL
        needed = {
            changes.REASONING_REQUIRED: _requires_reasoning(traits),
            changes.GOOGLE_SIGNATURES: traits.family == "gemini"
            and traits.service not in ("openrouter", "novita", "vertex"),
            changes.VERTEX_SIGNATURES: traits.family == "gemini" and traits.service == "vertex",
            # Gateways give them, but their ids grow stale: the answer is an error with status 200.
            "reasoning_details": traits.family == "gemini",
            CACHE_MARKS: _takes_cache_marks(traits),
        }
        return tuple(sorted(change for change, is_needed in needed.items() if is_needed))

    def parameters(self, config: ModelConfig, limit: int | None, traits: Traits) -> Parameters:
        """See ``Api.parameters``."""
        return parameters(config, limit, traits)

    def conversation(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], writing: Writing
    ) -> Body:
        """See ``Api.conversation``."""
        body: Body = {}
        if tools and writing.tool_call_style == "native":
            body["tools"] = changes.marked_tools(tool_bodies(tools), writing.changes)
        bodies = message_bodies(messages, tools, writing)
        body["messages"] = changes.change_messages(bodies, writing.changes)
        return body

    def parser(self, writing: Writing, tools: Sequence[ToolSchema]) -> StreamParser:
        """See ``Api.parser``."""
        return StreamParser(writing, tools)

    def failure(self, event: object) -> Failure | None:
        """See ``Api.failure``."""
        return failure_in_chunk(event)

    def is_answer(self, body: object) -> bool:
        """See ``Api.is_answer``."""
        return isinstance(body, Mapping) and bool(body.get("choices"))


def _requires_reasoning(traits: Traits) -> bool:
    """Return whether each of the model's calls must be sent back with its reasoning."""
    if traits.family == "deepseek":
        return traits.version >= (4, 0) or (traits.service == "deepseek" and not traits.version[0])
    return traits.family == "kimi" and (traits.version >= (2, 5) or "thinking" in traits.name)


def _takes_cache_marks(traits: Traits) -> bool:
    if traits.service == "openrouter":
        return traits.family in _MARKED_AT_OPENROUTER
    return traits.service == "dashscope" and traits.family == "qwen"
