"""Assembly of tool calls from streamed deltas, which vary between endpoints.

According to the protocol, a call's first fragment has index, id and name, and the others only
the index. Endpoints also send: no ids, no indexes, one index for all calls, the id or the name
repeated in every fragment, a new id in every fragment, complete calls in one chunk, arguments
as an object, a name in a later fragment.
"""

import json
from collections.abc import Mapping
from typing import Any

from agent.models.base import CallPiece
from agent.models.openai.transport.bounds import AnswerSize, check_calls
from agent.models.parsing.call_ids import new_call_id


class _Call:
    def __init__(self, index: int, place: int | None, given_id: str) -> None:
        self.index = index
        self.place = place
        self.given_id = given_id
        self.name = ""
        self.parts: list[str] = []
        self.said = False

    @property
    def complete(self) -> bool:
        """Whether the arguments so far are complete JSON."""
        arguments = "".join(self.parts)
        if not arguments.rstrip().endswith("}"):
            return False
        try:
            json.loads(arguments)
        except (ValueError, RecursionError):
            return False
        return True


class CallReader:
    """Assembler of fragments into calls, numbered in the order of their starts.

    Args:
        size: Counter of the answer's characters.
    """

    def __init__(self, size: AnswerSize) -> None:
        self._size = size
        self._calls: list[_Call] = []
        self._ids: set[str] = set()

    def feed(self, fragment: Mapping[str, Any]) -> list[CallPiece]:
        """Return the pieces of one entry of ``delta.tool_calls``."""
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        place = fragment.get("index")
        place = place if type(place) is int else None
        given_id, name = _string(fragment.get("id")), _string(function.get("name"))
        arguments = self._size.add(_arguments(function.get("arguments")))
        call = self._continued(place, given_id, name)
        if call is None:
            call = _Call(len(self._calls), place, given_id)
            self._calls.append(call)
            check_calls(len(self._calls))
        call.name = call.name or name
        call.parts.append(arguments)
        return self._piece(call, arguments) if call.name else []

    def flush(self) -> list[CallPiece]:
        """Return the calls that never received a name."""
        return [piece for call in self._calls if not call.said for piece in self._piece(call, "")]

    def _piece(self, call: _Call, arguments: str) -> list[CallPiece]:
        if call.said:
            return [CallPiece(call.index, arguments=arguments)] if arguments else []
        call.said = True
        own_id = call.given_id
        if not own_id or own_id in self._ids:
            own_id = new_call_id()
        self._ids.add(own_id)
        return [CallPiece(call.index, own_id, call.name, "".join(call.parts))]

    def _continued(self, place: int | None, given_id: str, name: str) -> _Call | None:
        """Return the call to which a fragment belongs; None for a new one."""
        if not self._calls:
            return None
        last = self._calls[-1]
        here = [call for call in self._calls if call.place == place] if place is not None else []
        call = here[-1] if here else last
        if not name:
            return None if given_id and place is not None and not here else call
        if place is not None and not here:
            return None
        if given_id:
            return call if given_id == call.given_id or not call.name else None
        repeated = name == call.name and not call.complete
        return call if repeated or not call.name else None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: object) -> str:
    if value is None or value == "":
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
