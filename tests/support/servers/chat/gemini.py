"""Gemini 3 at its OpenAI-compatible endpoint, and at Vertex."""

from collections.abc import Iterator
from typing import Any

from tests.support.models.turns import Body, Turn
from tests.support.servers.chat.api import ChatApi, assistant_messages
from tests.support.servers.server import Refused, refuse_if

PLACEHOLDER = "skip_thought_signature_validator"
MISSING = (
    "Function call is missing a thought_signature in functionCall parts. Additional data, function "
    "call `default_api:{name}` , position {at}."
)


class Gemini(ChatApi):
    """The first call of each turn has a signature, which has to come back in its place.

    A turn that another model made has the documented placeholder instead.
    """

    vendor = "google"
    shows_reasoning = False  # thoughts come only as signatures
    cache_rules = "implicit"
    context_error = (
        "The input token count ({used}) exceeds the maximum number of tokens allowed ({limit})."
    )
    context_code = None

    def call_extras(self, call_id: str, index: int, turn: Turn) -> Body:
        signature = self._signature(call_id)
        return {"extra_content": {self.vendor: signature}} if index == 0 else {}

    def argument_fragments(self, text: str) -> Iterator[str]:
        yield text

    def check_messages(self, messages: list[Body], body: Body) -> None:
        for index, message in assistant_messages(messages):
            for at, call in enumerate(message.get("tool_calls") or []):
                self._check_call(call, at, index)

    def _check_call(self, call: Body, at: int, index: int) -> None:
        sent = (call.get("extra_content") or {}).get(self.vendor) or {}
        signature = sent.get("thought_signature")
        if at > 0:
            if sent:
                self.lose(f"call {at + 1} of messages[{index}] got a signature that it never had")
            return
        refuse_if(not signature, MISSING.format(name=call["function"]["name"], at=index))
        issued = call["id"] in self.issued
        if signature == PLACEHOLDER:
            if issued:
                self.lose(f"the signature of messages[{index}], replaced by the placeholder")
        elif not issued or sent != self._signature(call["id"]):
            raise Refused("Thought signature is not valid.")

    def _signature(self, call_id: str) -> Body:
        return {"thought_signature": f"c2ln+/{call_id}=="}

    def error_body(self, refused: Refused) -> Any:
        error = {"code": refused.status, "message": refused.message, "status": "INVALID_ARGUMENT"}
        return [{"error": error}]


class VertexGemini(Gemini):
    """The same at Vertex, under another name."""

    vendor = "vertex"
