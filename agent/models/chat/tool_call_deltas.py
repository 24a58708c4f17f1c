"""Assembly of tool calls from streamed deltas, which vary between endpoints.

By the protocol, a call's first fragment has index, id and name, the others only the index.
Endpoints also send: no ids, no indexes, one index for all calls, an index that changes within a
call, the id or the name repeated in every fragment, a new id in every fragment, complete calls,
arguments as an object, a name in a later fragment; all arguments so far in every fragment, or
once more at the end; an empty object before the arguments.
"""

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from agent.models.base import CallPiece
from agent.models.parsing.fragments import SurrogateJoiner
from agent.models.parsing.repair import new_call_id, resolve_tool_name
from agent.models.parsing.text_calls.json_scanner import JsonScanner
from agent.models.transport.bounds import AnswerSizeCounter, check_call_count

_MAX_EMPTY_LENGTH = 64  # of arguments that may be a placeholder, so that they are held back


class _PartialCall:
    """A call being assembled; ``stream_index`` is the index in its first fragment."""

    def __init__(self, index: int, stream_index: int | None, endpoint_id: str) -> None:
        self.index = index
        self.stream_index = stream_index
        self.endpoint_id = endpoint_id
        self.name = ""
        self.is_begun = False
        self._arguments: list[str] = []
        self._length = 0
        self._scanner = JsonScanner()
        self._joiner = SurrogateJoiner()
        self._held: list[str] = []
        self._held_length = 0

    @property
    def is_complete(self) -> bool:
        """Whether the arguments so far are a complete object."""
        return self._scanner.is_complete

    def new_arguments(self, fragment: str) -> str:
        """Return what a fragment adds: it may repeat all arguments so far, and continue them."""
        if self._length and len(fragment) >= self._length:
            so_far = "".join(self._arguments)
            self._arguments = [so_far]
            if so_far.lstrip().startswith("{") and fragment.startswith(so_far):
                return fragment[self._length :]
        return fragment

    def add(self, arguments: str) -> None:
        """Add new arguments; an empty object before them was a placeholder."""
        if arguments.lstrip().startswith("{") and self._holds("{}"):
            self._arguments, self._length = [], 0
            self._held, self._held_length = [], 0
            self._scanner = JsonScanner()
        if arguments and not self._scanner.is_complete:
            self._scanner.feed(arguments)
        self._arguments.append(arguments)
        self._length += len(arguments)
        self._held.append(arguments)
        self._held_length += len(arguments)

    def take(self) -> str:
        """Return the arguments that are certain and were not yet returned."""
        return "" if self._holds("", "{", "{}") else self._joiner.feed(self._take_held())

    def take_rest(self) -> str:
        """Return the arguments that are left at the end."""
        return self._joiner.feed(self._take_held()) + self._joiner.flush()

    def _holds(self, *texts: str) -> bool:
        """Return whether what is held back is one of these short texts."""
        return self._held_length < _MAX_EMPTY_LENGTH and "".join(self._held).strip() in texts

    def _take_held(self) -> str:
        held, self._held, self._held_length = "".join(self._held), [], 0
        return held


class ToolCallAssembler:
    """Assembles fragments into calls; ``kept`` gets each fragment with the number of its call."""

    def __init__(
        self,
        size: AnswerSizeCounter,
        kept: Callable[[int, Mapping[str, Any]], None],
        tools: Collection[str] = (),
    ) -> None:
        self._size = size
        self._kept = kept
        self._tools = tools
        self._calls: list[_PartialCall] = []
        self._ids: set[str] = set()

    def feed(self, fragment: Mapping[str, Any]) -> list[CallPiece]:
        """Return the pieces of one entry of ``delta.tool_calls``."""
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        stream_index = fragment.get("index")
        stream_index = stream_index if type(stream_index) is int else None
        endpoint_id, name = _string(fragment.get("id")), _string(function.get("name"))
        arguments = _arguments(function.get("arguments"))
        call = self._find_call(stream_index, endpoint_id, name)
        if call is None:
            call = _PartialCall(len(self._calls), stream_index, endpoint_id)
            self._calls.append(call)
            check_call_count(len(self._calls))
        self._kept(call.index, fragment)
        call.name = call.name or resolve_tool_name(name, self._tools)
        call.add(self._size.add(call.new_arguments(arguments)))
        return self._next_pieces(call, call.take()) if call.name else []

    def flush(self) -> list[CallPiece]:
        """Return what is left: calls that never received a name, and empty arguments."""
        return [
            piece for call in self._calls for piece in self._next_pieces(call, call.take_rest())
        ]

    def _next_pieces(self, call: _PartialCall, arguments: str) -> list[CallPiece]:
        if call.is_begun:
            return [CallPiece(call.index, arguments=arguments)] if arguments else []
        call.is_begun = True
        call_id = call.endpoint_id
        if not call_id or call_id in self._ids:
            call_id = new_call_id()
        self._ids.add(call_id)
        return [CallPiece(call.index, call_id, call.name, arguments)]

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
        same_id = [call for call in self._calls if endpoint_id and call.endpoint_id == endpoint_id]
        if same_id and not (name and same_id[-1].is_complete):
            return same_id[-1]
        call = same_index[-1] if same_index else last
        if not name:
            return None if endpoint_id and stream_index is not None and not same_index else call
        if stream_index is not None and not same_index:
            return None
        is_same_name = not call.name or resolve_tool_name(name, self._tools) == call.name
        if endpoint_id:
            is_same = endpoint_id == call.endpoint_id and is_same_name
            return call if is_same or not call.name else None
        return call if is_same_name and not (call.name and call.is_complete) else None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: object) -> str:
    if value is None or value == "":
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
