"""Requests to a scripted endpoint with the real client."""

from typing import Any

from agent.models.base import (
    AssistantMessage,
    Message,
    ModelConfig,
    ModelRequest,
    Piece,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from agent.models.endpoint.client import EndpointModel
from agent.util.cancellation import Stop
from tests.contract.model_suite import REQUEST
from tests.support.models.endpoint import Endpoint, Turn

HISTORY: list[Message] = [
    SystemMessage("You are careful."),
    UserMessage("List it."),
    AssistantMessage("", "Let me look.", (ToolCall("a", "execute_bash", '{"command": "ls"}'),)),
    ToolResult("a", "execute_bash", ""),
    AssistantMessage(""),
    UserMessage("And now?"),
]


def stream_request(
    endpoint: Endpoint, request: ModelRequest = REQUEST, **settings: Any
) -> list[Piece]:
    model = EndpointModel(ModelConfig(endpoint.url, "test-model", **settings))
    return list(model.stream(request, Stop()))


def stream_chunks(*chunks: Any, finish: str | None = "stop", **settings: Any) -> list[Piece]:
    """Return the pieces for a stream of these deltas, or complete chunks if they have choices."""
    complete_chunks = [
        chunk if not isinstance(chunk, dict) or "choices" in chunk else _delta(chunk)
        for chunk in chunks
    ]
    end = [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}]
    with Endpoint([Turn(chunks=[*complete_chunks, *end])]) as endpoint:
        return stream_request(endpoint, **settings)


def _delta(delta: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
