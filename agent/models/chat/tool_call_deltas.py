"""Assembly of tool calls from streamed deltas, which vary between endpoints.

According to the protocol, a call's first fragment has index, id and name, and the others only
the index. Endpoints also send: no ids, no indexes, one index for all calls, the id or the name
repeated in every fragment, a new id in every fragment, complete calls in one chunk, arguments
as an object, a name in a later fragment.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from agent.models.base import CallPiece
from agent.models.parsing.call_ids import new_call_id
from agent.models.transport.bounds import AnswerSizeCounter, check_call_count


class _PartialCall:
    def __init__(self, index: int, stream_index: int | None, endpoint_id: str) -> None:
        self.index = index
        self.stream_index = stream_index
        self.endpoint_id = endpoint_id
        self.name = ""
        self.parts: list[str] = []
        self.emitted = False

    @property
    def is_complete(self) -> bool:
        """Whether the arguments so far are complete JSON."""
        arguments = "".join(self.parts)
        if not arguments.rstrip().endswith("}"):
            return False
        try:
            json.loads(arguments)
        except (ValueError, RecursionError):
            return False
        return True


class ToolCallAssembler:
    """Assembler of fragments into calls, numbered in the order of their starts.

    Args:
        size: Counter of the answer's characters.
        kept: Called with each fragment and the number of its call.
    """

    def __init__(
        self, size: AnswerSizeCounter, kept: Callable[[int, Mapping[str, Any]], None]
    ) -> None:
        self._size = size
        self._kept = kept
        self._calls: list[_PartialCall] = []
        self._ids: set[str] = set()

    def feed(self, fragment: Mapping[str, Any]) -> list[CallPiece]:
        """Return the pieces of one entry of ``delta.tool_calls``."""
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        stream_index = fragment.get("index")
        stream_index = stream_index if type(stream_index) is int else None
        endpoint_id, name = _string(fragment.get("id")), _string(function.get("name"))
        arguments = self._size.add(_arguments(function.get("arguments")))
        call = self._find_call(stream_index, endpoint_id, name)
        if call is None:
            call = _PartialCall(len(self._calls), stream_index, endpoint_id)
            self._calls.append(call)
            check_call_count(len(self._calls))
        self._kept(call.index, fragment)
        call.name = call.name or name
        call.parts.append(arguments)
        return self._next_pieces(call, arguments) if call.name else []

    def flush(self) -> list[CallPiece]:
        """Return the calls that never received a name."""
        return [
            piece
            for call in self._calls
            if not call.emitted
            for piece in self._next_pieces(call, "")
        ]

    def _next_pieces(self, call: _PartialCall, arguments: str) -> list[CallPiece]:
        if call.emitted:
            return [CallPiece(call.index, arguments=arguments)] if arguments else []
        call.emitted = True
        call_id = call.endpoint_id
        if not call_id or call_id in self._ids:
            call_id = new_call_id()
        self._ids.add(call_id)
        return [CallPiece(call.index, call_id, call.name, "".join(call.parts))]

    def _find_call(
        self, stream_index: int | None, endpoint_id: str, name: str
    ) -> _PartialCall | None:
        """Return the call to which a fragment belongs; None for a new one."""
        if not self._calls:
            return None
        last = self._calls[-1]
        same_index = (
            [call for call in self._calls if call.stream_index == stream_index]
            if stream_index is not None
            else []
        )
        call = same_index[-1] if same_index else last
        if not name:
            return None if endpoint_id and stream_index is not None and not same_index else call
        if stream_index is not None and not same_index:
            return None
        if endpoint_id:
            return call if endpoint_id == call.endpoint_id or not call.name else None
        repeated = name == call.name and not call.is_complete
        return call if repeated or not call.name else None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: object) -> str:
    if value is None or value == "":
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
