"""Validation of a history of chat messages, as strict as the strictest endpoints."""

import json
from typing import Any

from tests.support.models.turns import Body


def find_history_error(messages: Any) -> str:
    """Return the first error in a conversation; empty if it is valid."""
    if not isinstance(messages, list) or not messages:
        return "messages must be a non-empty list"
    open_ids: list[str] = []
    for index, message in enumerate(messages):
        if open_ids and message.get("role") != "tool":
            return f"messages[{index}]: tool calls without an answer: {open_ids}"
        error = _check_message(message, open_ids)
        if error:
            return f"messages[{index}]: {error}"
    return f"tool calls without an answer: {open_ids}" if open_ids else ""


def _check_message(message: Body, open_ids: list[str]) -> str:
    role, calls = message.get("role"), message.get("tool_calls")
    if role not in ("system", "developer", "user", "assistant", "tool"):
        return f"unknown role {role!r}"
    if role == "tool":
        if message.get("tool_call_id") not in open_ids:
            return f"an answer to no tool call: {message.get('tool_call_id')!r}"
        open_ids.remove(message["tool_call_id"])
    if calls is None:
        return "" if _has_content(message.get("content")) else "empty content"
    if role != "assistant" or not calls:
        return "tool_calls where none may be"
    open_ids.extend(call["id"] for call in calls)
    if len(set(open_ids)) < len(open_ids):
        return "two tool calls with one id"
    return next((error for call in calls if (error := _check_call(call))), "")


def _has_content(content: Any) -> bool:
    if isinstance(content, list):
        return bool(content) and all(
            part.get("type") != "text" or part["text"].strip() for part in content
        )
    return isinstance(content, str) and bool(content.strip())


def _check_call(call: Body) -> str:
    function = call["function"]
    if call.get("type") != "function" or not call["id"] or not function["name"]:
        return "a tool call without type, id or name"
    try:
        arguments = json.loads(function["arguments"])
    except ValueError:
        return f"arguments are no JSON: {function['arguments']!r}"
    return "" if isinstance(arguments, dict) else "arguments are no object"
