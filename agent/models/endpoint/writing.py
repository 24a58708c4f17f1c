"""How a conversation is written for an endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.models.base import AssistantMessage, OpaqueParts, ToolCallStyle


@dataclass(frozen=True, slots=True)
class Writing:
    """How a conversation is written for an endpoint.

    ``changes`` are those that it needs, known or learned from a refusal; the API's package
    documents their names.
    """

    family: str = ""
    tool_call_style: ToolCallStyle = "native"
    send_reasoning: bool = True
    changes: tuple[str, ...] = ()

    def own_parts(self, message: AssistantMessage) -> Mapping[str, Any]:
        """Return a message's opaque parts; empty if another family gave them."""
        opaque: OpaqueParts | None = message.opaque
        return opaque.parts if opaque is not None and opaque.family == self.family else {}
