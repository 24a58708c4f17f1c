"""Collection of what an answer gives to be given back, from its deltas."""

from collections.abc import Iterator, Mapping
from typing import Any

from agent.models.base import OpaqueParts
from agent.models.chat.request import CALL_FIELDS, CALLS
from agent.models.parsing.opaque import bounded, is_shallow
from agent.models.transport.bounds import AnswerSizeCounter, KeptSizeCounter

_STREAMED = ("text", "summary", "data")
_MAX_DETAILS = 2000


class _Fragments(list[str]):
    """A text that arrives in fragments, which are joined at the end."""


class OpaqueCollector:
    """Collector of one answer's opaque parts; see ``agent.models.chat.request`` for their form."""

    def __init__(self, family: str, size: AnswerSizeCounter, kept_size: KeptSizeCounter) -> None:
        self._family = family
        self._size, self._kept_size = size, kept_size
        self._details: list[dict[str, Any]] = []
        self._calls: dict[str, dict[str, Any]] = {}
        self._has_empty_reasoning = False

    def add_details(self, details: object) -> Iterator[str]:
        """Take in ``reasoning_details`` of a delta; yield what the user may read of them."""
        for entry in details if isinstance(details, list) else []:
            if not isinstance(entry, Mapping) or not is_shallow(entry):
                continue
            for key in ("text", "summary"):
                if isinstance(text := entry.get(key), str) and text:
                    yield text
            self._size.add("".join(v for v in entry.values() if isinstance(v, str)))
            self._kept_size.add_json([v for v in entry.values() if not isinstance(v, str)])
            if (begun := self._begun(entry)) is not None:
                _extend(begun, entry)
            elif len(self._details) < _MAX_DETAILS:
                self._details.append({key: _begin(key, value) for key, value in entry.items()})

    def add_call(self, position: int, fragment: Mapping[str, Any]) -> None:
        """Take in the fields of a call's fragment that are to be given back with it."""
        for key in CALL_FIELDS:
            value = fragment.get(key)
            if not value or not is_shallow(value):
                continue
            fields = self._calls.setdefault(str(position), {})
            if fields.get(key) != value:
                self._kept_size.add_json(value)
                fields[key] = value

    def add_reasoning(self, text: object) -> None:
        """Take in the value of ``reasoning_content``, which some models send empty."""
        self._has_empty_reasoning = self._has_empty_reasoning or text == ""

    def collected(
        self, *, before_text: str, has_reasoning: bool, has_calls: bool
    ) -> OpaqueParts | None:
        """Return the parts of the answer, with what preceded its text (``<think>…</think>``)."""
        parts: dict[str, Any] = {}
        if self._has_empty_reasoning and has_calls and not has_reasoning:
            parts["reasoning_content"] = ""
        if self._details:
            parts["reasoning_details"] = [
                {
                    key: "".join(value) if isinstance(value, _Fragments) else value
                    for key, value in entry.items()
                }
                for entry in self._details
            ]
        if before_text:
            parts["content"] = before_text
        if self._calls:
            parts[CALLS] = self._calls
        return bounded(self._family, parts)

    def _begun(self, entry: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the entry that another one continues, if any."""
        same = [each for each in self._details[-8:] if each.get("type") == entry.get("type")]
        if "index" in entry:
            return next((each for each in same if each.get("index") == entry["index"]), None)
        continues = same and same[-1] is self._details[-1] and "index" not in same[-1]
        continues = continues and not {"id", "signature", "data"} & entry.keys()
        return same[-1] if continues else None


def _extend(begun: dict[str, Any], entry: Mapping[str, Any]) -> None:
    for key, value in entry.items():
        text = begun.get(key)
        if isinstance(text, _Fragments) and isinstance(value, str):
            text.append(value)
        elif value is not None or key not in begun:
            begun[key] = _begin(key, value)


def _begin(key: str, value: object) -> object:
    return _Fragments([value]) if key in _STREAMED and isinstance(value, str) else value
