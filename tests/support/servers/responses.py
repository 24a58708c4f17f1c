"""OpenAI's Responses API with a reasoning model and ``store: false``."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.models.turns import Body, Turn, cut
from tests.support.servers.chat.api import parse_arguments, texts
from tests.support.servers.server import Api, Counts, Refused, Seen, SeenCall

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


class ResponsesApi(Api):
    """Item order, encrypted reasoning and ids are checked as OpenAI does.

    Issued items are kept by their id; each reasoning item with the item that follows it.
    """

    path = "/responses"
    context_error = (
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again."
    )

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[str, Body] = {}
        self._call_items: dict[str, str] = {}
        self._following: dict[str, str] = {}

    def check(self, body: Body, headers: Mapping[str, str]) -> None:
        self._check_parameters(body)
        items = body.get("input")
        if not isinstance(items, list) or not items:
            raise Refused("Missing required parameter: 'input'.", param="input")
        for index, item in enumerate(items):
            self._check_item(item, index, body)
        self._check_pairs(items)
        self._check_order(items)

    def _check_parameters(self, body: Body) -> None:
        flat = {*body, *(f"stream_options.{key}" for key in body.get("stream_options") or {})}
        for name, message in _UNKNOWN.items():
            if name in flat:
                raise Refused(message, param=name, code="unsupported_parameter")
        for index, tool in enumerate(body.get("tools") or []):
            if "name" not in tool:
                place = f"tools[{index}].name"
                raise Refused(
                    f"Missing required parameter: '{place}'.",
                    param=place, code="missing_required_parameter",
                )  # fmt: skip
        effort = (body.get("reasoning") or {}).get("effort", "medium")
        if effort not in _EFFORTS:
            raise Refused(f"Invalid value: '{effort}'.", param="reasoning.effort")
        if body.get("store") is not False:
            self.lose("store was not false: the conversation is kept by the provider")
        if not body.get("stream"):
            raise Refused("This server only streams.", param="stream")

    def _check_item(self, item: Body, index: int, body: Body) -> None:
        kind, item_id = item.get("type", "message"), item.get("id")
        place = f"input[{index}]"
        prefixes = {"message": "msg", "reasoning": "rs", "function_call": "fc"}
        if kind == "function_call_output":
            if not isinstance(item.get("output"), str | list):
                raise Refused(f"Missing required parameter: '{place}.output'.")
            return
        if kind not in prefixes:
            raise Refused(f"Invalid value: '{kind}'.", param=f"{place}.type")
        prefix = prefixes[kind]
        if item_id is not None and not item_id.startswith(prefix):
            raise Refused(
                f"Invalid '{place}.id': '{item_id}'. Expected an ID that begins with '{prefix}'.",
                param=f"{place}.id", code="invalid_value",
            )  # fmt: skip
        if kind == "reasoning":
            self._check_reasoning(item, place)
        elif kind == "function_call":
            if len(item.get("call_id") or "") not in range(1, 65):
                raise Refused(f"Invalid '{place}.call_id'.", param=f"{place}.call_id")
            self._check_unchanged(item, ("name", "arguments", "call_id"), place)
        else:
            self._check_message(item, place)

    def _check_message(self, item: Body, place: str) -> None:
        role, content = item.get("role"), item.get("content")
        if role not in ("user", "system", "developer", "assistant"):
            raise Refused(f"Invalid value: '{role}'.", param=f"{place}.role")
        kind = "output_text" if role == "assistant" else "input_text"
        for at, part in enumerate(content if isinstance(content, list) else []):
            if part.get("type") not in (kind, "refusal", "input_image", "input_file"):
                raise Refused(
                    f"Invalid value: '{part.get('type')}'. Supported values are: '{kind}'.",
                    param=f"{place}.content[{at}].type", code="invalid_value",
                )  # fmt: skip
        if not content:
            raise Refused(f"Missing required parameter: '{place}.content'.")
        self._check_unchanged(item, ("phase",), place)

    def _check_reasoning(self, item: Body, place: str) -> None:
        item_id = item.get("id")
        if not item.get("encrypted_content"):
            raise Refused(
                f"Item with id '{item_id}' not found. Items are not persisted when `store` is set "
                "to false. Try again with `store` set to true, or remove this item from your "
                "input.",
                404,
            )  # fmt: skip
        if not isinstance(item.get("summary"), list):
            name = f"{place}.summary"
            raise Refused(f"Missing required parameter: '{name}'.", param=name)
        issued = self._items.get(item_id or "", {})
        if item["encrypted_content"] != issued.get("encrypted_content"):
            raise Refused(
                f"The encrypted content for item {item_id} could not be verified. Reason: "
                "Encrypted content could not be decrypted or parsed.",
                code="invalid_encrypted_content",
            )  # fmt: skip
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
            if call not in outputs:
                raise Refused(f"No tool output found for function call {call}.", param="input")
        for output in outputs:
            if output not in calls:
                raise Refused(
                    f"No tool call found for function call output with call_id {output}.",
                    param="input",
                )

    def _check_order(self, items: list[Body]) -> None:
        for index, item in enumerate(items):
            if item.get("type") == "reasoning":
                expected = self._following[item["id"]]
                follower = items[index + 1] if index + 1 < len(items) else {}
                if self._id_of(follower) != expected:
                    raise Refused(
                        f"Item '{item['id']}' of type 'reasoning' was provided without its "
                        "required following item.",
                        param="input",
                    )
        sent = {item.get("id") for item in items}
        for index, item in enumerate(items):
            if item.get("type") not in ("function_call", "message", None):
                continue
            before = self._reasoning_before(self._id_of(item))
            if before and before not in sent:
                if item.get("id"):
                    raise Refused(
                        f"Item '{item['id']}' of type '{item['type']}' was provided without its "
                        f"required 'reasoning' item: '{before}'.",
                        param="input",
                    )
                self.lose(f"the reasoning before input[{index}]")

    def _id_of(self, item: Body) -> str:
        return item.get("id") or self._call_items.get(item.get("call_id") or "", "")

    def _reasoning_before(self, item_id: str) -> str:
        return next((key for key, each in self._following.items() if each == item_id), "")

    def read(self, body: Body) -> Seen:
        items = body["input"]
        messages = [item for item in items if item.get("type", "message") == "message"]
        system = [body.get("instructions") or ""]
        system += texts(messages, "system", "developer")
        return Seen(
            system="\n".join(filter(None, system)),
            users=tuple(texts(messages, "user")),
            calls=tuple(
                SeenCall(
                    each["call_id"], each["name"], parse_arguments(each["arguments"]),
                    each["call_id"] in self._call_items,
                )
                for each in items if each.get("type") == "function_call"
            ),
            results=tuple(
                each["output"] if isinstance(each["output"], str) else json.dumps(each["output"])
                for each in items if each.get("type") == "function_call_output"
            ),
            tools=tuple(tool["name"] for tool in body.get("tools") or []),
            body=body,
        )  # fmt: skip

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
            for kind, fields in _item_events(item, index):
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


def _item_events(item: Body, index: int) -> Iterator[tuple[str, Body]]:
    place = {"item_id": item["id"]}
    kind = item["type"]
    started = _STARTED[kind]
    yield "response.output_item.added", {"item": item | started}
    if kind == "reasoning":
        for at, part in enumerate(item["summary"]):
            where = place | {"summary_index": at}
            empty = {"type": "summary_text", "text": ""}
            yield "response.reasoning_summary_part.added", where | {"part": empty}
            for piece in cut(part["text"]):
                yield "response.reasoning_summary_text.delta", where | {"delta": piece}
            yield "response.reasoning_summary_text.done", where | {"text": part["text"]}
            yield "response.reasoning_summary_part.done", where | {"part": part}
    elif kind == "message":
        text, where = item["content"][0]["text"], place | {"content_index": 0}
        part = item["content"][0]
        yield "response.content_part.added", where | {"part": part | {"text": ""}}
        for piece in cut(text):
            yield "response.output_text.delta", where | {"delta": piece}
        yield "response.output_text.done", where | {"text": text}
        yield "response.content_part.done", where | {"part": part}
    else:
        for piece in cut(item["arguments"]):
            yield "response.function_call_arguments.delta", place | {"delta": piece}
        arguments = {"arguments": item["arguments"]}
        yield "response.function_call_arguments.done", place | arguments
    yield "response.output_item.done", {"item": item}
