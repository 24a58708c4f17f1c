"""OpenRouter: ``reasoning_details`` of several vendors behind one API."""

import json
from collections.abc import Iterator
from typing import Any

from tests.support.models.turns import Body, Turn, cut
from tests.support.servers.chat.api import ChatApi, assistant_messages
from tests.support.servers.server import Counts, Refused, Seen

_FORMATS = {
    "anthropic": "anthropic-claude-v1",
    "openai": "openai-responses-v1",
    "google": "google-gemini-v1",
    "deepseek": "unknown",
}


class OpenRouter(ChatApi):
    """The details come in pieces by index, and go back as one list, unchanged and in order.

    Args:
        vendor: ``anthropic``, ``openai``, ``deepseek`` or ``google``, whose model is behind it.
    """

    def __init__(self, vendor: str) -> None:
        self.cache_rules = {"anthropic": "marked", "google": "implicit"}.get(vendor, "automatic")
        super().__init__()
        self.vendor = vendor
        self._details: dict[str, list[Body]] = {}

    def events(self, turn: Turn, seen: Seen, usage: Counts) -> Iterator[str]:
        yield ": OPENROUTER PROCESSING\n\n"
        yield from super().events(turn, seen, usage)

    def reasoning_deltas(self, key: str, turn: Turn, seen: Seen) -> Iterator[Body]:
        if not turn.reasoning:
            return
        entries = self._entries(key, turn.reasoning)
        self._details[key] = entries
        for entry in entries:
            field = next(name for name in ("text", "summary", "data") if name in entry)
            head = {name: entry[name] for name in ("type", "format", "index")}
            head |= {"id": entry["id"]} if "id" in entry else {}
            for part in cut(entry[field]):
                piece = head | {field: part}
                shown = {} if field == "data" else {"reasoning": part}
                yield {"reasoning_details": [piece], **shown}
            if "signature" in entry:
                yield {"reasoning_details": [head | {"signature": entry["signature"]}]}

    def _entries(self, key: str, reasoning: str) -> list[Body]:
        form = _FORMATS[self.vendor]
        text: Body = {"type": "reasoning.text", "format": form, "index": 0, "text": reasoning}
        if self.vendor == "anthropic":
            return [text | {"signature": f"c2lnbmVk/{key}=="}]
        if self.vendor == "deepseek":
            return [text]
        data: Body = {"type": "reasoning.encrypted", "format": form, "index": 1}
        data |= {"data": f"ZW5jcnlwdGVk/{key}==", "id": f"rs_{key}"}
        if self.vendor == "google":
            return [text, data]
        summary = {"type": "reasoning.summary", "format": form, "index": 0, "summary": reasoning}
        return [summary, data]

    def check_messages(self, messages: list[Body], body: Body) -> None:
        for index, message in assistant_messages(messages):
            turn, sent = self.issued_turn(message), message.get("reasoning_details")
            calls = message.get("tool_calls")
            key = calls[0]["id"] if calls else message.get("content") or ""
            issued = self._details.get(key) if turn else None
            if self.vendor == "google":
                if sent:
                    raise self._provider_error("Reasoning id not found")
            elif sent and sent != issued:
                raise self._provider_error(
                    f"messages.{index}.content.0: Invalid `signature` in `thinking` block"
                )
            elif issued and not sent:
                self.lose(f"reasoning_details of messages[{index}]")
            if self.vendor == "deepseek" and calls and "reasoning_content" not in message:
                raise self._provider_error(
                    "The `reasoning_content` in the thinking mode must be passed back to the API."
                )

    def _provider_error(self, text: str) -> Refused:
        raw = json.dumps({"error": {"message": text, "type": "invalid_request_error"}})
        status = 200 if self.vendor == "google" else 400
        metadata = {"raw": raw, "provider_name": self.vendor.title()}
        return Refused("Provider returned error", status, metadata=metadata)

    def error_body(self, refused: Refused) -> Any:
        error = {"message": refused.message, "code": refused.status}
        if refused.status == 200:
            error["code"] = 400
        return {"error": error | refused.fields, "user_id": "user_1"}

    def usage(self, usage: Counts) -> Body:
        details = {"cached_tokens": usage.cached, "cache_write_tokens": usage.written}
        return super().usage(usage) | {"prompt_tokens_details": details}
