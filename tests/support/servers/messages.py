"""Anthropic's Messages API, for models before 4.6 and from 4.7 on."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.models.turns import Body, Turn, cut
from tests.support.servers.chat.api import content_text
from tests.support.servers.server import Api, Counts, Refused, Seen, SeenCall

_BODY_FIELDS = {
    "model", "messages", "max_tokens", "system", "tools", "tool_choice", "stream", "thinking",
    "output_config", "temperature", "top_p", "top_k", "stop_sequences", "metadata", "cache_control",
    "service_tier", "container", "context_management",
}  # fmt: skip
_BLOCK_FIELDS = {
    "text": {"type", "text", "cache_control", "citations"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "tool_use": {"type", "id", "name", "input", "cache_control", "caller"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
}
_MAX_MARKS = 4
_MISSING_THINKING = (
    "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
    "`{found}`. When `thinking` is enabled, a final `assistant` message must start with a "
    "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). To avoid "
    "this requirement, disable `thinking`."
)
_MODIFIED = (
    "messages.{at}.content.{block}: `thinking` or `redacted_thinking` blocks in the latest "
    "assistant message cannot be modified. These blocks must remain as they were in the original "
    "response."
)


class MessagesApi(Api):
    """Blocks, their order and signatures are checked as Anthropic does.

    Args:
        adaptive: Whether the model is 4.7 or later: adaptive thinking, fixed sampling. Otherwise
            it is before 4.6: thinking with a budget.
    """

    path = "/messages"
    cache_rules = "marked"
    context_error = "prompt is too long: {used} tokens > {limit} maximum"
    context_code = None

    def __init__(self, *, adaptive: bool = True) -> None:
        super().__init__()
        self.adaptive = adaptive
        self._blocks: dict[str, list[Body]] = {}  # of an answer, by its first call's id or its text

    def error_body(self, refused: Refused) -> Any:
        error = {"type": "invalid_request_error", "message": refused.message}
        return {"type": "error", "error": error, "request_id": "req_1"}

    def check(self, body: Body, headers: Mapping[str, str]) -> None:
        if headers.get("anthropic-version") != "2023-06-01":
            raise Refused("anthropic-version: header is required")
        self._check_parameters(body)
        self._check_thinking_parameters(body)
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Refused("messages: at least one message is required")
        for index, message in enumerate(messages):
            self._check_message(index, message)
        if messages[0]["role"] != "user":
            raise Refused('messages: first message must use the "user" role')
        if messages[-1]["role"] != "user":
            raise Refused(
                "This model does not support assistant message prefill. The conversation must end "
                "with a user message."
            )
        self._check_pairs(messages)
        self._check_marks(body)
        self._check_thinking(messages, body)

    def _check_parameters(self, body: Body) -> None:
        if not isinstance(body.get("max_tokens"), int):
            raise Refused("max_tokens: Field required")
        for name in body:
            if name not in _BODY_FIELDS:
                raise Refused(f"{name}: Extra inputs are not permitted")
        if not body.get("stream"):
            raise Refused("This server only streams.")
        for index, tool in enumerate(body.get("tools") or []):
            for name in ("name", "input_schema"):
                if name not in tool:
                    raise Refused(f"tools.{index}.custom.{name}: Field required")

    def _check_thinking_parameters(self, body: Body) -> None:
        thinking = body.get("thinking") or {}
        kind, sampling = thinking.get("type"), [n for n in _SAMPLING if n in body]
        if self.adaptive:
            if sampling:
                raise Refused(f"`{sampling[0]}` is deprecated for this model.")
            if kind == "enabled":
                raise Refused(
                    '"thinking.type.enabled" is not supported for this model. Use '
                    '"thinking.type.adaptive" and "output_config.effort" to control thinking '
                    "behavior."
                )
            return
        if kind == "adaptive":
            raise Refused("adaptive thinking is not supported on this model")
        if "output_config" in body:
            raise Refused("This model does not support the effort parameter.")
        if kind == "enabled":
            budget = thinking.get("budget_tokens", 0)
            if budget < 1024:
                raise Refused(
                    "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
                )
            if budget >= body["max_tokens"]:
                raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`.")
            if body.get("temperature", 1) != 1:
                raise Refused("`temperature` may only be set to 1 when thinking is enabled.")

    def _check_message(self, index: int, message: Body) -> None:
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant"):
            raise Refused(
                f'messages: Unexpected role "{role}". The Messages API accepts a top-level '
                '`system` parameter, not "system" as an input message role.'
            )
        if not content:
            raise Refused(f"messages.{index}: user messages must have non-empty content")
        for at, block in enumerate(_blocks(message)):
            self._check_block(f"messages.{index}.content.{at}", block)

    def _check_block(self, place: str, block: Body) -> None:
        kind = block.get("type")
        if kind not in _BLOCK_FIELDS:
            raise Refused(f"{place}: Input tag '{kind}' found using 'type' does not match")
        for name in block:
            if name not in _BLOCK_FIELDS[kind]:
                raise Refused(f"{place}.{kind}.{name}: Extra inputs are not permitted")
        if kind == "text" and not block["text"].strip():
            raise Refused("messages: text content blocks must contain non-whitespace text")
        if kind == "tool_use" and not re.fullmatch("[a-zA-Z0-9_-]{1,64}", block["id"]):
            raise Refused(f"{place}.tool_use.id: String should match pattern")
        if kind == "tool_use" and not isinstance(block["input"], dict):
            raise Refused(f"{place}.tool_use.input: Input should be a valid dictionary")

    def _check_pairs(self, messages: list[Body]) -> None:
        messages = _joined(messages)
        used: set[str] = set()
        for index, message in enumerate(messages):
            calls = [b["id"] for b in _blocks(message) if b["type"] == "tool_use"]
            if used.intersection(calls) or len(set(calls)) < len(calls):
                raise Refused(f"messages.{index}.content: `tool_use` ids must be unique")
            used.update(calls)
            following = _blocks(messages[index + 1]) if index + 1 < len(messages) else []
            first = itertools.takewhile(lambda b: b["type"] == "tool_result", following)
            answered = {block["tool_use_id"] for block in first}
            missing = [each for each in calls if each not in answered]
            if missing:
                raise Refused(
                    f"messages.{index}: `tool_use` ids were found without `tool_result` blocks "
                    f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
                    "corresponding `tool_result` block in the next message."
                )
            results = [b["tool_use_id"] for b in following if b["type"] == "tool_result"]
            if unknown := [each for each in results if each not in calls]:
                raise Refused(
                    f"messages.{index + 1}.content.0: unexpected `tool_use_id` found in "
                    f"`tool_result` blocks: {unknown[0]}. Each `tool_result` block must have a "
                    "corresponding `tool_use` block in the previous message."
                )

    def _check_marks(self, body: Body) -> None:
        system = body.get("system")
        places = [*(system if isinstance(system, list) else []), *(body.get("tools") or [])]
        places += [block for message in body["messages"] for block in _blocks(message)]
        marks = sum("cache_control" in each for each in places)
        if marks > _MAX_MARKS:
            raise Refused(
                f"A maximum of {_MAX_MARKS} blocks with cache_control may be provided. Found "
                f"{marks}."
            )

    def _check_thinking(self, messages: list[Body], body: Body) -> None:
        answers = [at for at, each in enumerate(messages) if each["role"] == "assistant"]
        enabled = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
        for at in answers:
            blocks = _blocks(messages[at])
            issued = self._blocks.get(_key(blocks))
            sent = [b for b in blocks if b["type"] in _THINKING]
            known = [b for b in issued or [] if b["type"] in _THINKING]
            for place, block in enumerate(blocks):
                if block["type"] in _THINKING and block not in known:
                    modified = at == answers[-1] and issued is not None
                    raise Refused(
                        _MODIFIED.format(at=at, block=place)
                        if modified
                        else f"messages.{at}.content.{place}: Invalid `signature` in `thinking` "
                        "block"
                    )
            if enabled and issued is not None and sent != known:
                if at == answers[-1] and not sent:
                    raise Refused(_MISSING_THINKING.format(at=at, found=blocks[0]["type"]))
                self.lose(f"the thinking of messages[{at}]")
            if sent and blocks[: len(sent)] != sent:
                raise Refused(_MISSING_THINKING.format(at=at, found=blocks[0]["type"]))
        self._check_final(messages, answers, body)

    def _check_final(self, messages: list[Body], answers: list[int], body: Body) -> None:
        """With a budget, the turn that is being continued has to begin with thinking."""
        if (body.get("thinking") or {}).get("type") != "enabled" or not answers:
            return
        blocks, following = _blocks(messages[answers[-1]]), _blocks(messages[-1])
        continued = any(block["type"] == "tool_result" for block in following)
        if continued and blocks[0]["type"] not in _THINKING:
            raise Refused(_MISSING_THINKING.format(at=answers[-1], found=blocks[0]["type"]))

    def read(self, body: Body) -> Seen:
        blocks = [(m["role"], block) for m in body["messages"] for block in _blocks(m)]
        system = body.get("system") or ""
        return Seen(
            system=system if isinstance(system, str) else "\n".join(b["text"] for b in system),
            users=tuple(
                block["text"] for role, block in blocks
                if role == "user" and block["type"] == "text"
            ),
            calls=tuple(
                SeenCall(block["id"], block["name"], block["input"], block["id"] in self._blocks)
                for _, block in blocks if block["type"] == "tool_use"
            ),
            results=tuple(
                content_text(block["content"]) for _, block in blocks
                if block["type"] == "tool_result"
            ),
            tools=tuple(tool["name"] for tool in body.get("tools") or []),
            body=body,
        )  # fmt: skip

    def prompt_parts(self, body: Body) -> list[Any]:
        system = body.get("system") or []
        blocks = [block for message in body["messages"] for block in _blocks(message)]
        top = [system] if isinstance(system, str) else system
        parts = [*(body.get("tools") or []), *top, *blocks]
        if "cache_control" in body and parts:  # at the top level: the last block is marked
            parts[-1] = parts[-1] | {"cache_control": body["cache_control"]}
        return parts

    def events(self, turn: Turn, seen: Seen, usage: Counts) -> Iterator[str]:
        blocks = self._issue(turn, seen.body)
        fresh = usage.prompt - usage.cached - usage.written
        counts = {
            "input_tokens": fresh, "cache_creation_input_tokens": usage.written,
            "cache_read_input_tokens": usage.cached, "output_tokens": 1,
        }  # fmt: skip
        message: Body = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
        message |= {"model": seen.body["model"], "stop_reason": None, "usage": counts}
        yield _event("message_start", message=message)
        yield _event("ping")
        for index, block in enumerate(blocks):
            yield from _block_events(block, index)
        reason = turn.finish or ("tool_use" if turn.calls else "end_turn")
        reason = {"length": "max_tokens"}.get(reason, reason)
        delta = {"stop_reason": reason, "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage={"output_tokens": usage.generated})
        yield _event("message_stop")

    def _issue(self, turn: Turn, body: Body) -> list[Body]:
        """Return the blocks of an answer, and keep them."""
        blocks: list[Body] = []
        thinking = body.get("thinking") or {}
        if turn.reasoning and thinking.get("type") in ("enabled", "adaptive"):
            shown = not self.adaptive or thinking.get("display") == "summarized"
            text = turn.reasoning if shown else ""
            signature = f"RXJvQkNr+/{next(self._ids)}=="
            blocks.append({"type": "thinking", "thinking": text, "signature": signature})
        if turn.text:
            blocks.append({"type": "text", "text": turn.text})
        for call in turn.made_calls:
            block = {"type": "tool_use", "id": call.id or f"toolu_{next(self._ids):020d}"}
            blocks.append(block | {"name": call.name, "input": json.loads(call.text)})
        self._blocks[_key(blocks)] = blocks
        for block in blocks:
            if block["type"] == "tool_use":
                self._blocks.setdefault(block["id"], blocks)
        return blocks


_SAMPLING = ("temperature", "top_p", "top_k")
_THINKING = ("thinking", "redacted_thinking")


def _blocks(message: Body) -> list[Body]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _joined(messages: list[Body]) -> list[Body]:
    """Return the messages with those of one role in a row joined, as the API does."""
    joined: list[Body] = []
    for message in messages:
        if joined and joined[-1]["role"] == message["role"]:
            content = [*_blocks(joined[-1]), *_blocks(message)]
            joined[-1] = {"role": message["role"], "content": content}
        else:
            joined.append(message)
    return joined


def _key(blocks: list[Body]) -> str:
    """Return what identifies an answer: its first call, or its text."""
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return calls[0] if calls else "".join(b["text"] for b in blocks if b["type"] == "text")


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


_EMPTY: Mapping[str, Body] = {
    "thinking": {"thinking": "", "signature": ""},
    "text": {"text": ""},
    "tool_use": {"input": {}},
}


def _block_events(block: Body, index: int) -> Iterator[str]:
    kind = block["type"]
    yield _event("content_block_start", index=index, content_block=block | _EMPTY[kind])
    text = json.dumps(block["input"]) if kind == "tool_use" else block[kind]
    name, field = {
        "thinking": ("thinking_delta", "thinking"), "text": ("text_delta", "text"),
        "tool_use": ("input_json_delta", "partial_json"),
    }[kind]  # fmt: skip
    for part in cut(text):
        yield _event("content_block_delta", index=index, delta={"type": name, field: part})
    if kind == "thinking":
        delta = {"type": "signature_delta", "signature": block["signature"]}
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)
