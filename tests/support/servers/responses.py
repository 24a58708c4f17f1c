"""OpenAI's Responses API with a reasoning model and ``store: false``."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.models.turns import Body, Turn, cut
from tests.support.servers.chat.api import parse_arguments, texts
from tests.support.servers.pictures import check_data_url
from tests.support.servers.server import Api, Counts, Refused, Seen, command_of, refuse_if

_UNKNOWN = {
    "messages": "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved "
    "to 'input'. Try again with the new parameter.",
    "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_output_tokens' instead.",
    "max_completion_tokens": "Unsupported parameter: 'max_completion_tokens'. In the Responses "
    "API, this parameter has moved to 'max_output_tokens'. Try again with the new parameter.",
    "reasoning_effort": "Unsupported parameter: 'reasoning_effort'. In the Responses API, this "
    "parameter has moved to 'reasoning.effort'. Try again with the new parameter.",
    "temperature": "Unsupported parameter: 'temperature' is not supported with this model.",
    "top_p": "Unsupported parameter: 'top_p' is not supported with this model.",
    "stream_options.include_usage": "Unknown parameter: 'stream_options.include_usage'.",
    "thinking": "Unknown parameter: 'thinking'.",
    "seed": "Unknown parameter: 'seed'.",
}
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")


def _require(given: object, place: str) -> None:
    missing = f"Missing required parameter: '{place}'."
    refuse_if(not given, missing, param=place, code="missing_required_parameter")


def _refuse_value(condition: object, value: object, place: str) -> None:
    refuse_if(condition, f"Invalid value: '{value}'.", param=place, code="invalid_value")


class ResponsesApi(Api):
    """Item order, encrypted reasoning and ids are checked as OpenAI does.

    Issued items are kept by their id; each reasoning item with the item that follows it.
    """

    path = "/responses"
    context_error = (
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again."
    )

    def __init__(self, *, pictures_in_results: bool = True) -> None:
        super().__init__()
        self._pictures_in_results = pictures_in_results
        self._items: dict[str, Body] = {}
        self._call_items: dict[str, str] = {}
        self._following: dict[str, str] = {}

    def check(self, body: Body, headers: Mapping[str, str]) -> None:
        self._check_parameters(body)
        items = body.get("input")
        if not isinstance(items, list) or not items:
            raise Refused("Missing required parameter: 'input'.", param="input")
        for index, item in enumerate(items):
            self._check_item(item, f"input[{index}]")
        self._check_pairs(items)
        self._check_order(items)

    def _check_parameters(self, body: Body) -> None:
        flat = {*body, *(f"stream_options.{key}" for key in body.get("stream_options") or {})}
        for name, message in _UNKNOWN.items():
            refuse_if(name in flat, message, param=name, code="unsupported_parameter")
        for index, tool in enumerate(body.get("tools") or []):
            _require("name" in tool, f"tools[{index}].name")
        effort = (body.get("reasoning") or {}).get("effort", "medium")
        _refuse_value(effort not in _EFFORTS, effort, "reasoning.effort")
        if body.get("store") is not False:
            self.lose("store was not false: the conversation is kept by the provider")

    def _check_item(self, item: Body, place: str) -> None:
        kind, item_id = item.get("type", "message"), item.get("id")
        if kind == "function_call_output":
            refuse_if(
                isinstance(item.get("output"), list) and not self._pictures_in_results,
                f"{place}.output: Input should be a valid string",
            )
            self._check_parts(item.get("output"), f"{place}.output")
            return _require(isinstance(item.get("output"), str | list), f"{place}.output")
        prefix = {"message": "msg", "reasoning": "rs", "function_call": "fc"}.get(kind, "")
        _refuse_value(not prefix, kind, f"{place}.type")
        wrong = item_id is not None and not item_id.startswith(prefix)
        _refuse_value(wrong, item_id, f"{place}.id")
        if kind == "reasoning":
            self._check_reasoning(item, place)
        elif kind == "function_call":
            call_id = item.get("call_id") or ""
            _refuse_value(len(call_id) not in range(1, 65), call_id, f"{place}.call_id")
            self._check_unchanged(item, ("name", "arguments", "call_id"), place)
        else:
            self._check_message(item, place)

    def _check_message(self, item: Body, place: str) -> None:
        role, content = item.get("role"), item.get("content")
        known = role in ("user", "system", "developer", "assistant")
        _refuse_value(not known, role, f"{place}.role")
        kind = "output_text" if role == "assistant" else "input_text"
        for at, part in enumerate(content if isinstance(content, list) else []):
            wrong = part.get("type") not in (kind, "refusal", "input_image", "input_file")
            _refuse_value(wrong, part.get("type"), f"{place}.content[{at}].type")
        if role != "assistant":
            self._check_parts(content, f"{place}.content")
        _require(content, f"{place}.content")
        self._check_unchanged(item, ("phase",), place)

    def _check_parts(self, parts: Any, place: str) -> None:
        for at, part in enumerate(parts if isinstance(parts, list) else []):
            _refuse_value(part["type"] not in ("input_text", "input_image"), part["type"], place)
            if part["type"] == "input_image":
                check_data_url(part.get("image_url"), f"{place}[{at}].image_url")
            else:
                _require(part["text"], f"{place}[{at}].text")

    def _check_reasoning(self, item: Body, place: str) -> None:
        item_id, encrypted = item.get("id"), item.get("encrypted_content")
        refuse_if(
            not encrypted,
            f"Item with id '{item_id}' not found. Items are not persisted when `store` is set "
            "to false. Try again with `store` set to true, or remove this item from your input.",
            404,
        )
        _require(isinstance(item.get("summary"), list), f"{place}.summary")
        refuse_if(
            encrypted != self._items.get(item_id or "", {}).get("encrypted_content"),
            f"The encrypted content for item {item_id} could not be verified.",
            code="invalid_encrypted_content",
        )
        self._check_unchanged(item, ("summary",), place)

    def _check_unchanged(self, item: Body, names: tuple[str, ...], place: str) -> None:
        issued = self._items.get(item.get("id") or "", {})
        for name in names:
            if name in issued and item.get(name) != issued[name]:
                self.lose(f"{name} of {place}, changed")

    def _check_pairs(self, items: list[Body]) -> None:
        calls = [each["call_id"] for each in items if each.get("type") == "function_call"]
        outputs = [each["call_id"] for each in items if each.get("type") == "function_call_output"]
        for call in calls:
            missing = f"No tool output found for function call {call}."
            refuse_if(call not in outputs, missing, param="input")
        for output in outputs:
            missing = f"No tool call found for function call output with call_id {output}."
            refuse_if(output not in calls, missing, param="input")

    def _check_order(self, items: list[Body]) -> None:
        sent = {item.get("id") for item in items}
        for index, item in enumerate(items):
            lacks = f"Item '{item.get('id')}' was provided without its required "
            if item.get("type") == "reasoning":
                follower = items[index + 1] if index + 1 < len(items) else {}
                wrong = self._id_of(follower) != self._following[item["id"]]
                refuse_if(wrong, f"{lacks}following item.", param="input")
            if item.get("type") not in ("function_call", "message", None):
                continue
            before = self._reasoning_before(self._id_of(item))
            if before and before not in sent:
                refuse_if(item.get("id"), f"{lacks}'reasoning' item: '{before}'.", param="input")
                self.lose(f"the reasoning before input[{index}]")

    def _id_of(self, item: Body) -> str:
        return item.get("id") or self._call_items.get(item.get("call_id") or "", "")

    def _reasoning_before(self, item_id: str) -> str:
        return next((key for key, each in self._following.items() if each == item_id), "")

    def read(self, body: Body) -> Seen:
        items = body["input"]
        messages = [item for item in items if item.get("type", "message") == "message"]
        commands = (
            command_of(each["name"], parse_arguments(each["arguments"]))
            for each in items
            if each.get("type") == "function_call"
        )
        return Seen(tuple(texts(messages, "user")), tuple(commands), body)

    def prompt_parts(self, body: Body) -> list[Any]:
        return [*(body.get("tools") or []), body.get("instructions") or "", *body["input"]]

    def events(self, turn: Turn, seen: Seen, usage: Counts) -> Iterator[str]:
        response: Body = {
            "id": f"resp_{next(self._ids)}",
            "object": "response",
            "status": "in_progress",
        }
        response |= {"model": seen.body["model"], "output": [], "store": seen.body.get("store")}
        number = itertools.count()

        def event(kind: str, **fields: Any) -> str:
            data = {"type": kind, "sequence_number": next(number), **fields}
            return f"event: {kind}\ndata: {json.dumps(data)}\n\n"

        yield event("response.created", response=response)
        output = self._issue(turn, seen)
        for index, item in enumerate(output):
            for kind, fields in _item_events(item):
                yield event(kind, output_index=index, **fields)
        counts = {
            "input_tokens": usage.prompt,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.generated,
            "output_tokens_details": {"reasoning_tokens": usage.generated // 2},
            "total_tokens": usage.prompt + usage.generated,
        }
        done = response | {"status": "completed", "output": output, "usage": counts}
        yield event("response.completed", response=done)

    def _issue(self, turn: Turn, seen: Seen) -> list[Body]:
        """Return the items of an answer, and keep what has to come back."""
        items: list[Body] = []
        if turn.reasoning:
            items.append(self._reasoning_item(turn, seen.body))
        calls = turn.made_calls
        if turn.text:
            content: list[Body] = [{"type": "output_text", "text": turn.text, "annotations": []}]
            phase = "commentary" if calls else "final_answer"
            items.append(
                {"type": "message", "id": self._new("msg"), "role": "assistant",
                 "status": "completed", "content": content, "phase": phase}
            )  # fmt: skip
        for call in calls:
            item = {"type": "function_call", "id": self._new("fc"), "name": call.name}
            item |= {"call_id": call.id or self._new("call"), "arguments": call.text}
            self._call_items[item["call_id"]] = item["id"]
            items.append(item | {"status": "completed"})
        self._items |= {item["id"]: item for item in items}
        if turn.reasoning and len(items) > 1:
            self._following[items[0]["id"]] = items[1]["id"]
        return items

    def _reasoning_item(self, turn: Turn, body: Body) -> Body:
        item: Body = {"type": "reasoning", "id": self._new("rs"), "summary": []}
        if (body.get("reasoning") or {}).get("summary"):
            item["summary"] = [{"type": "summary_text", "text": turn.reasoning}]
        if "reasoning.encrypted_content" in (body.get("include") or []):
            item["encrypted_content"] = f"gAAAA{item['id']}+/=="
        return item

    def _new(self, prefix: str) -> str:
        return f"{prefix}_{next(self._ids):012x}"


_STARTED: Mapping[str, Body] = {
    "reasoning": {"summary": []},
    "message": {"content": [], "status": "in_progress"},
    "function_call": {"arguments": "", "status": "in_progress"},
}


_PARTS = {
    "reasoning": ("summary", "reasoning_summary_part", "reasoning_summary_text"),
    "message": ("content", "content_part", "output_text"),
}


def _item_events(item: Body) -> Iterator[tuple[str, Body]]:
    kind, place = item["type"], {"item_id": item["id"]}
    yield "response.output_item.added", {"item": item | _STARTED[kind]}
    if kind == "function_call":
        arguments = item["arguments"]
        for piece in cut(arguments):
            yield "response.function_call_arguments.delta", place | {"delta": piece}
        yield "response.function_call_arguments.done", place | {"arguments": arguments}
    else:
        field, part_event, text_event = _PARTS[kind]
        for at, part in enumerate(item[field]):
            where = place | {f"{field}_index": at}
            yield f"response.{part_event}.added", where | {"part": part | {"text": ""}}
            for piece in cut(part["text"]):
                yield f"response.{text_event}.delta", where | {"delta": piece}
            yield f"response.{text_event}.done", where | {"text": part["text"]}
            yield f"response.{part_event}.done", where | {"part": part}
    yield "response.output_item.done", {"item": item}
