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
from agent.util.stop import Stop
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


def stream_from(config: ModelConfig, request: ModelRequest = REQUEST) -> list[Piece]:
    return list(EndpointModel(config).stream(request, Stop()))


def stream_request(
    endpoint: Endpoint, request: ModelRequest = REQUEST, **settings: Any
) -> list[Piece]:
    return stream_from(ModelConfig(endpoint.url, "test-model", **settings), request)


def stream_chunks(*chunks: Any, finish: str | None = "stop", **settings: Any) -> list[Piece]:
    """Return the pieces for a stream of these deltas, or complete chunks if they have choices."""
    complete_chunks = [
        {"choices": [{"index": 0, "delta": chunk, "finish_reason": None}]}
        if isinstance(chunk, dict) and "choices" not in chunk
        else chunk
        for chunk in chunks
    ]
    end = [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}]
    with Endpoint([Turn(chunks=[*complete_chunks, *end])]) as endpoint:
        return stream_request(endpoint, **settings)
