"""Mistral: call ids of nine letters or digits, a fixed order of roles, no unknown fields."""

import re
from typing import Any

from tests.support.models.turns import Body, Call
from tests.support.servers.chat.api import ChatApi
from tests.support.servers.server import Refused, Seen, refuse_if

_FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "prefix"},
    "tool": {"role", "content", "tool_call_id", "name"},
}
_ORDER: Body = {"type": "invalid_request_message_order", "code": "3230"}


class Mistral(ChatApi):
    """Mistral's API; its models without reasoning."""

    shows_reasoning = False

    context_error = (
        "Prompt contains {used} tokens and 0 draft tokens, too large for model with {limit} "
        "maximum context length"
    )
    context_code = "3051"

    def new_call_id(self, seen: Seen, index: int, call: Call) -> str:
        return f"{next(self._ids):09d}"

    def check_messages(self, messages: list[Body], body: Body) -> None:
        for index, message in enumerate(messages):
            self._check_fields(index, message)
            for call in message.get("tool_calls") or []:
                refuse_if(
                    not re.fullmatch("[a-zA-Z0-9]{9}", call["id"]),
                    f"Tool call id was {call['id']} but must be a-z, A-Z, 0-9, with a length of 9.",
                    type="invalid_function_call", code="3280",
                )  # fmt: skip
        previous = ""
        for message in messages:
            role = message["role"]
            wrong = (previous, role) in (("tool", "user"), ("user", "tool")) or (
                role == "system" and previous not in ("", "system")
            )
            refuse_if(wrong, f"Unexpected role '{role}' after role '{previous}'", **_ORDER)
            previous = role
        wrong = previous not in ("user", "tool")
        refuse_if(
            wrong, f"Expected last role User or Tool for serving but got {previous}", **_ORDER
        )

    def _check_fields(self, index: int, message: Body) -> None:
        for name in message:
            if name not in _FIELDS.get(message["role"], set()):
                place = ["body", "messages", index, message["role"], name]
                detail = {"type": "extra_forbidden", "loc": place}
                detail |= {"msg": "Extra inputs are not permitted", "input": message[name]}
                raise Refused("Extra inputs are not permitted", 422, detail=[detail])

    def error_body(self, refused: Refused) -> Any:
        fields = dict(refused.fields)
        detail = fields.pop("detail", None)
        message = {"detail": detail} if detail else refused.message
        base = {"object": "error", "message": message, "type": "invalid_request_error"}
        return base | {"param": None, "code": None} | fields
