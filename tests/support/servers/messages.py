"""Anthropic's Messages API, for models before 4.6 and from 4.7 on."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.models.turns import Body, Turn, cut
from tests.support.servers.cache import MAX_MARKS
from tests.support.servers.pictures import check_base64
from tests.support.servers.server import Api, Counts, Refused, Seen, command_of, refuse_if

_BODY_FIELDS = {
    "model", "messages", "max_tokens", "system", "tools", "tool_choice", "stream", "thinking",
    "output_config", "temperature", "top_p", "top_k", "stop_sequences", "metadata", "cache_control",
    "service_tier", "container", "context_management",
}  # fmt: skip
_BLOCK_FIELDS = {
    "text": {"type", "text", "cache_control", "citations"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "image": {"type", "source", "cache_control"},
    "tool_use": {"type", "id", "name", "input", "cache_control", "caller"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
}
_MISSING_THINKING = (
    "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`."
)
_MODIFIED = (
    "messages.{at}: `thinking` or `redacted_thinking` blocks in the latest assistant message "
    "cannot be modified."
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
        version = headers.get("anthropic-version")
        refuse_if(version != "2023-06-01", "anthropic-version: header is required")
        self._check_parameters(body)
        self._check_thinking_parameters(body)
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Refused("messages: at least one message is required")
        for index, message in enumerate(messages):
            self._check_message(index, message)
        first, last = messages[0]["role"], messages[-1]["role"]
        refuse_if(first != "user", 'messages: first message must use the "user" role')
        refuse_if(last != "user", "This model does not support assistant message prefill.")
        self._check_pairs(_joined(messages))
        self._check_marks(body)
        self._check_thinking(messages, body)

    def _check_parameters(self, body: Body) -> None:
        refuse_if(not isinstance(body.get("max_tokens"), int), "max_tokens: Field required")
        for name in body:
            refuse_if(name not in _BODY_FIELDS, f"{name}: Extra inputs are not permitted")
        for index, tool in enumerate(body.get("tools") or []):
            for name in ("name", "input_schema"):
                refuse_if(name not in tool, f"tools.{index}.custom.{name}: Field required")

    def _check_thinking_parameters(self, body: Body) -> None:
        thinking = body.get("thinking") or {}
        kind = thinking.get("type")
        if self.adaptive:
            for name in ("temperature", "top_p", "top_k"):
                refuse_if(name in body, f"`{name}` is deprecated for this model.")
            refuse_if(kind == "enabled", '"thinking.type.enabled" is not supported for this model.')
            return
        refuse_if(kind == "adaptive", "adaptive thinking is not supported on this model")
        refuse_if("output_config" in body, "This model does not support the effort parameter.")
        if kind == "enabled":
            budget, limit = thinking.get("budget_tokens", 0), body["max_tokens"]
            refuse_if(
                budget < 1024, "thinking.enabled.budget_tokens: Input should be at least 1024"
            )
            refuse_if(
                budget >= limit, "`max_tokens` must be greater than `thinking.budget_tokens`."
            )
            refuse_if(body.get("temperature", 1) != 1, "`temperature` may only be set to 1")

    def _check_message(self, index: int, message: Body) -> None:
        role = message.get("role")
        refuse_if(role not in ("user", "assistant"), f'messages: Unexpected role "{role}".')
        empty = not message.get("content")
        refuse_if(empty, f"messages.{index}: user messages must have non-empty content")
        for at, block in enumerate(_blocks(message)):
            self._check_block(f"messages.{index}.content.{at}", block)

    def _check_block(self, place: str, block: Body) -> None:
        kind = block.get("type")
        if kind not in _BLOCK_FIELDS:
            raise Refused(f"{place}: Input tag '{kind}' found using 'type' does not match")
        for name in block:
            unknown = name not in _BLOCK_FIELDS[kind]
            refuse_if(unknown, f"{place}.{kind}.{name}: Extra inputs are not permitted")
        if kind == "text":
            empty = "messages: text content blocks must contain non-whitespace text"
            refuse_if(not block["text"].strip(), empty)
        if kind == "image":
            source = block["source"]
            refuse_if(
                source.get("type") != "base64", f"{place}.image.source: Input should be base64"
            )
            check_base64(source.get("data"), source.get("media_type"), f"{place}.image.source")
        if kind == "tool_result" and isinstance(block.get("content"), list):
            for inner in block["content"]:
                unknown = inner.get("type") not in ("text", "image")
                refuse_if(unknown, f"{place}.tool_result: Input tag '{inner.get('type')}' found")
                self._check_block(f"{place}.tool_result", inner)
        if kind == "tool_use":
            named = re.fullmatch("[a-zA-Z0-9_-]{1,64}", block["id"])
            refuse_if(not named, f"{place}.tool_use.id: String should match pattern")
            wrong = f"{place}.tool_use.input: Input should be a valid dictionary"
            refuse_if(not isinstance(block["input"], dict), wrong)

    def _check_pairs(self, messages: list[Body]) -> None:
        used: set[str] = set()
        for index, message in enumerate(messages):
            calls = [b["id"] for b in _blocks(message) if b["type"] == "tool_use"]
            repeated = used.intersection(calls) or len(set(calls)) < len(calls)
            refuse_if(repeated, f"messages.{index}.content: `tool_use` ids must be unique")
            used.update(calls)
            following = _blocks(messages[index + 1]) if index + 1 < len(messages) else []
            first = itertools.takewhile(lambda b: b["type"] == "tool_result", following)
            answered = {block["tool_use_id"] for block in first}
            refuse_if(
                missing := [each for each in calls if each not in answered],
                f"messages.{index}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(missing)}.",
            )
            results = [b["tool_use_id"] for b in following if b["type"] == "tool_result"]
            refuse_if(
                unknown := [each for each in results if each not in calls],
                f"messages.{index + 1}.content.0: unexpected `tool_use_id` found in "
                f"`tool_result` blocks: {', '.join(unknown)}.",
            )

    def _check_marks(self, body: Body) -> None:
        system = body.get("system")
        places = [*(system if isinstance(system, list) else []), *(body.get("tools") or [])]
        places += [block for message in body["messages"] for block in _blocks(message)]
        marks = sum("cache_control" in each for each in places)
        most = f"A maximum of 4 blocks with cache_control may be provided. Found {marks}."
        refuse_if(marks > MAX_MARKS, most)

    def _check_thinking(self, messages: list[Body], body: Body) -> None:
        answers = [at for at, each in enumerate(messages) if each["role"] == "assistant"]
        enabled = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
        for at in answers:
            blocks = _blocks(messages[at])
            issued = self._blocks.get(_key(blocks))
            sent = [b for b in blocks if b["type"] in _THINKING]
            known = [b for b in issued or [] if b["type"] in _THINKING]
            forged = [block for block in sent if block not in known]
            modified = at == answers[-1] and issued is not None
            refuse_if(forged and modified, _MODIFIED.format(at=at))
            refuse_if(forged, f"messages.{at}: Invalid `signature` in `thinking` block")
            missing = _MISSING_THINKING.format(at=at, found=blocks[0]["type"])
            if enabled and issued is not None and sent != known:
                refuse_if(at == answers[-1] and not sent, missing)
                self.lose(f"the thinking of messages[{at}]")
            refuse_if(blocks[: len(sent)] != sent, missing)
        if answers and (body.get("thinking") or {}).get("type") == "enabled":
            # With a budget, the turn that is being continued has to begin with thinking.
            found = _blocks(messages[answers[-1]])[0]["type"]
            continued = any(block["type"] == "tool_result" for block in _blocks(messages[-1]))
            missing = _MISSING_THINKING.format(at=answers[-1], found=found)
            refuse_if(continued and found not in _THINKING, missing)

    def read(self, body: Body) -> Seen:
        blocks = [(each["role"], block) for each in body["messages"] for block in _blocks(each)]
        users = (b["text"] for role, b in blocks if role == "user" and b["type"] == "text")
        calls = (command_of(b["name"], b["input"]) for _, b in blocks if b["type"] == "tool_use")
        return Seen(tuple(users), tuple(calls), body)

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
        return blocks


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
