"""Servers that people run themselves: vLLM, Ollama, SGLang, llama.cpp, with or without a parser."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.support.models.turns import Body, Call, Turn
from tests.support.servers.chat.api import ChatApi, assistant_messages
from tests.support.servers.server import Counts, Refused, Seen, refuse_if


class VLLM(ChatApi):
    """vLLM from 0.16 on: the reasoning is ``reasoning``; the older name is dropped silently."""

    reasoning_field = "reasoning"
    context_code = None

    def error_body(self, refused: Refused) -> Any:
        error = {"message": refused.message, "type": "BadRequestError", "param": None, "code": 400}
        return {"error": error}


class SGLang(ChatApi):
    reasoning_field = "reasoning_content"
    pictures_refused = "This model is not a multimodal model"
    context_error = (
        "The input ({used} tokens) is longer than the model's context length ({limit} tokens)."
    )
    context_code = None

    def error_body(self, refused: Refused) -> Any:
        return {
            "object": "error", "message": refused.message, "type": "BadRequestError",
            "param": None, "code": refused.status,
        }  # fmt: skip


class LlamaCpp(ChatApi):
    reasoning_field = "reasoning_content"
    pictures_refused = (
        "image input is not supported - hint: if this is unexpected, you may need to provide the "
        "mmproj"
    )
    context_error = (
        "request ({used} tokens) exceeds the available context size ({limit} tokens), try "
        "increasing it"
    )
    context_code = None

    def error_body(self, refused: Refused) -> Any:
        kind = "exceed_context_size_error" if "context size" in refused.message else ""
        error = {"code": refused.status, "message": refused.message}
        return {"error": error | {"type": kind or "invalid_request_error"}}


def _fenced_doubled(call: Call) -> str:
    arguments = json.dumps(dict(call.arguments))  # type: ignore[arg-type]
    doubled = arguments.replace("{", "{{").replace("}", "}}")
    return f'```json\n{{{{"name": "{call.name}", "arguments": {doubled}}}}}\n```'


def _hermes(call: Call) -> str:
    return f'<tool_call>\n{{"name": "{call.name}", "arguments": {call.text}}}\n</tool_call>'


def _qwen3_coder(call: Call) -> str:
    parameters = "".join(
        f"<parameter={name}>\n{value}\n</parameter>\n"
        for name, value in dict(call.arguments).items()  # type: ignore[arg-type]
    )
    return f"<tool_call>\n<function={call.name}>\n{parameters}</function>\n</tool_call>"


TEXT_FORMS: Mapping[str, Callable[[Call], str]] = {
    "qwen2.5-coder": _fenced_doubled,
    "qwen3-coder": _qwen3_coder,
    "hermes": _hermes,
}


class Parserless(ChatApi):
    """A server without a parser of calls: they come as text, in one of ``TEXT_FORMS``."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.write = TEXT_FORMS[form]

    def chunks(self, turn: Turn, seen: Seen, usage: Counts) -> Iterator[Body]:
        content = "\n".join([*filter(None, [turn.text]), *map(self.write, turn.made_calls)])
        written = replace(turn, text=content, reasoning="", calls=(), finish="stop")
        yield from super().chunks(written, seen, usage)


class StrictRoles(ChatApi):
    """A template that lets user and assistant alternate, and a validator that wants strings."""

    shows_reasoning = False
    pictures_refused = (
        "AiError: Bad input: Type mismatch of '/messages/{index}/content', 'array' not in 'string'"
    )

    def check_messages(self, messages: list[Body], body: Body) -> None:
        for index, message in enumerate(messages):
            wrong = f"AiError: Bad input: Type mismatch of '/messages/{index}/content', 'null' not "
            refuse_if(message.get("content") is None, f"{wrong}in 'string'")
        for index, _ in assistant_messages(messages):
            for key in messages[index].keys() - _KNOWN_FIELDS:
                raise Refused(f"messages.{index}.{key}: Extra inputs are not permitted")
        turns = [
            each["role"]
            for each in messages
            if each["role"] in ("user", "assistant") and not each.get("tool_calls")
        ]
        expected = ["user", "assistant"] * len(turns)
        refuse_if(
            turns != expected[: len(turns)],
            "After the optional system message, conversation roles must alternate user and "
            "assistant roles except for tool calls and results.",
        )

    def error_body(self, refused: Refused) -> Any:
        return {"errors": [{"code": 5006, "message": refused.message}], "success": False}


_KNOWN_FIELDS = {"role", "content", "tool_calls", "tool_call_id", "name"}
