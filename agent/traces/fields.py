"""Access to the fields of foreign JSON: a value of the wrong type is an error that says where."""

import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from agent.errors import TraceError
from agent.traces.formats.images import MAX_IMAGES, Image, image_of
from agent.traces.json_reader import JsonReader

MAX_TEXT_CHARACTERS = 1024 * 1024  # of one text of a trace; the middle of a longer one is left out
MAX_TOKEN_IDS = 2**21  # token ids of one prompt or answer
_KEPT = MAX_TEXT_CHARACTERS // 2
_MAX_TIME = 4e9
_MAX_COUNT = 2**53
_MAX_ID = 2**31
_LINE = re.compile(r", line \d+$")


class Fields:
    """The fields of a JSON object at a place. A missing or null field has its default value."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise TraceError(f"{place}: an object was expected.")
        self.values: dict[str, Any] = value
        self.place = place

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def error(self, name: str, problem: str) -> TraceError:
        """Return an error about a field."""
        return TraceError(f"{_within(self.place, name)}: {problem}.")

    def text(self, name: str, default: str = "") -> str:
        """Return a text; content in parts becomes one text, with images and others named."""
        value = self.values.get(name)
        if value is None:
            return default
        if isinstance(value, str):
            return shorten(value)
        if isinstance(value, list):
            return shorten("\n".join(self._part(name, part) for part in value))
        raise self.error(name, "a text was expected")

    def content(self, name: str) -> tuple[str, tuple[Image, ...]]:
        """Return the text of content in parts, and the pictures in it; others are named."""
        value = self.values.get(name)
        if not isinstance(value, list):
            return self.text(name), ()
        images, texts = list[Image](), list[str]()
        for part in value:
            known = isinstance(part, dict) and len(images) < MAX_IMAGES
            image = image_of(part) if known else None
            if image is None:
                texts.append(self._part(name, part))
            else:
                images.append(image)
        return shorten("\n".join(texts)), tuple(images)

    def _part(self, name: str, part: Any) -> str:
        if isinstance(part, str):
            return part
        if not isinstance(part, dict):
            raise self.error(name, "a text was expected")
        for key in ("text", "content", "refusal"):
            if isinstance(part.get(key), str):
                return str(part[key])
        return f"[{str(part.get('type', 'content'))[:40]}: {_address(part)}]"

    def number(self, name: str) -> float | None:
        """Return a finite number, or None."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(name, "a number was expected")
        try:
            return float(value) if math.isfinite(value) else None
        except OverflowError:
            return None

    def count(self, name: str) -> int | None:
        """Return a whole number from 0, or None."""
        value = self.number(name)
        if value is None:
            return None
        if not 0 <= value < _MAX_COUNT:
            raise self.error(name, "a number from 0 was expected")
        return int(value)

    def token_ids(self, name: str) -> tuple[int, ...] | None:
        """Return a list of token ids, or None."""
        values = self._list(name)
        if values is None:
            return None
        if len(values) > MAX_TOKEN_IDS:
            raise self.error(name, f"more than {MAX_TOKEN_IDS:,} token ids")
        for at, value in enumerate(values):
            if type(value) is not int or not 0 <= value < _MAX_ID:
                raise self.error(f"{name}[{at}]", "a token id was expected")
        return tuple(values)

    def numbers(self, name: str) -> tuple[float, ...] | None:
        """Return a list of finite numbers, or None."""
        values = self._list(name)
        if values is None:
            return None
        for at, value in enumerate(values):
            if type(value) not in (int, float) or not math.isfinite(value):
                raise self.error(f"{name}[{at}]", "a number was expected")
        return tuple(map(float, values))

    def _list(self, name: str) -> list[Any] | None:
        value = self.values.get(name)
        if value is not None and not isinstance(value, list):
            raise self.error(name, "a list was expected")
        return value

    def exit_code(self, name: str) -> int | None:
        """Return an exit code, or None."""
        value = self.number(name)
        return None if value is None or abs(value) > 2**31 else int(value)

    def flag(self, name: str) -> bool:
        """Return whether a field is true."""
        return self.values.get(name) is True

    def time(self, name: str) -> float | None:
        """Return seconds since the epoch, from a number of (milli)seconds or ISO 8601 text."""
        value = self.values.get(name)
        if isinstance(value, str):
            try:
                parsed = datetime.fromisoformat(value)
                at = (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
            except (ValueError, OverflowError) as error:
                raise self.error(name, "a time was expected") from error
        else:
            at = self.number(name) or 0.0
            at = at / 1000 if at > _MAX_TIME else at
        return at if 0 < at < _MAX_TIME else None

    def fields(self, name: str) -> "Fields":
        """Return an object; empty if it is missing."""
        value = self.values.get(name)
        return Fields({} if value is None else value, _within(self.place, name))

    def items(self, name: str) -> Iterator["Fields"]:
        """Yield the objects in a list."""
        for index, item in enumerate(self._list(name) or ()):
            yield Fields(item, _within(self.place, f"{name}[{index}]"))


def read_fields(reader: JsonReader) -> Fields:
    """Return the object at hand."""
    place = reader.place
    return Fields(reader.value(), place)


def read_objects(reader: JsonReader, *names: str) -> Iterator[Fields]:
    """Yield the objects in the lists of these names in the object at hand, one at a time."""
    for name in reader.members():
        if name in names:
            for _ in reader.elements():
                yield read_fields(reader)


def shorten(text: str) -> str:
    """Return a text of bounded length; what is left out of its middle is said in it."""
    if len(text) <= MAX_TEXT_CHARACTERS:
        return text
    left_out = f"\n[{len(text) - 2 * _KEPT:,} characters left out on import]\n"
    return text[:_KEPT] + left_out + text[-_KEPT:]


def dump(value: Any) -> str:
    """Return JSON text as it is written to files."""
    return json.dumps(value, ensure_ascii=False)


def format_time(at: float) -> str:
    """Return a time as ISO 8601 text, to the microsecond."""
    return datetime.fromtimestamp(at, UTC).isoformat()


def _within(place: str, name: str) -> str:
    """Return the place of a field of the object at a place."""
    has_field = not _LINE.search(place)
    return f"{place}.{name}" if has_field else f"{place}, {name}"


def _address(part: dict[str, Any]) -> str:
    """Return the address of an image or other part; data is not repeated."""
    for value in part.values():
        inner = value if isinstance(value, dict) else {"": value}
        for key in ("url", "path", ""):
            text = inner.get(key)
            if isinstance(text, str) and text != part.get("type"):
                return "data" if text.startswith("data:") or len(text) > 500 else text
    return "not kept"
