"""What is kept of an answer is bounded while it arrives, also where it is no text."""

from collections.abc import Callable
from typing import Any

import pytest

from agent.errors import ModelRefused
from agent.models.endpoint.apis import APIS
from agent.models.endpoint.writing import Writing
from agent.models.transport.bounds import MAX_BODY_BYTES

COUNT = 10
LARGE: dict[str, list[Any]] = {"x": [[]] * (MAX_BODY_BYTES // 4 // COUNT + 1)}
CALL = {"function": {"name": "submit"}}
EVENTS: dict[str, Callable[[int], Any]] = {
    "chat": lambda at: {
        "choices": [{"delta": {"reasoning_details": [{"type": "a", "index": at, "x": LARGE}]}}]
    },
    "chat ": lambda at: {
        "choices": [{"delta": {"tool_calls": [CALL | {"index": at, "extra_content": LARGE}]}}]
    },
    "responses": lambda at: {
        "type": "response.output_item.done", "output_index": at, "item": {"type": "a", "x": LARGE},
    },
    "messages": lambda at: {
        "type": "content_block_start", "index": at,
        "content_block": {"type": "tool_use", "id": str(at), "name": "submit", "input": LARGE},
    },
}  # fmt: skip


@pytest.mark.parametrize("api", EVENTS)
def test_an_answer_that_keeps_too_much_is_cut_off(api: str) -> None:
    parser = APIS[api.strip()].parser(Writing("f"), [])  # type: ignore[index]
    with pytest.raises(ModelRefused, match="longer than 8 MB"):
        [list(parser.feed(EVENTS[api](at))) for at in range(COUNT)]
