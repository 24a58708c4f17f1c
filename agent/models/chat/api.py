"""Chat Completions as an API; see ``agent.models.endpoint.api``."""

from agent.models.chat import changes
from agent.models.chat.parameters import parameters
from agent.models.chat.request import conversation
from agent.models.chat.requirements import REQUIREMENTS
from agent.models.chat.stream import StreamParser
from agent.models.endpoint.api import CACHE_MARKS, Api
from agent.models.endpoint.families import Traits


def _known_changes(traits: Traits) -> tuple[str, ...]:
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


def _requires_reasoning(traits: Traits) -> bool:
    """Return whether each of the model's calls must be sent back with its reasoning."""
    if traits.family == "deepseek":
        return traits.version >= (4, 0) or (traits.service == "deepseek" and not traits.version[0])
    return traits.family == "kimi" and (traits.version >= (2, 5) or "thinking" in traits.name)


def _takes_cache_marks(traits: Traits) -> bool:
    if traits.service == "openrouter":
        return traits.family == "claude"
    return traits.service == "dashscope" and traits.family == "qwen"


CHAT = Api(
    name="chat",
    path="/chat/completions",
    parameters=parameters,
    conversation=conversation,
    parser=StreamParser,
    is_answer=lambda body: bool(body.get("choices")),
    known_changes=_known_changes,
    requirements=REQUIREMENTS,
    message_fields=changes.DROPPED_FIELDS,
)
"""Chat Completions, as OpenAI defined it and most servers speak it."""
