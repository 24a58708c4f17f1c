"""Chunks of a streamed answer, and what is parsed from them."""

from collections.abc import Iterable
from typing import Any

from agent.models.base import Piece
from agent.models.chat.stream import StreamParser
from agent.models.endpoint.writing import Writing
from tests.contract.model_suite import BASH


def delta_chunk(delta: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}


def parse_chunks(chunks: Iterable[object], *, text_calls: bool = False) -> list[Piece]:
    reader = StreamParser(Writing(tool_call_style="text" if text_calls else "native"), [BASH])
    pieces = [piece for chunk in chunks for piece in reader.feed(chunk)]
    return [*pieces, *reader.finish()]
