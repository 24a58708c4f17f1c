"""Column types (number, date or text), sort keys and statistics."""

import datetime
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sandbox_ui.preview.base import PreviewRequest

_KIND_THRESHOLD = 0.95
_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}([,.' \u00a0\u202f]\d{3})+)?([.,]\d+)?([eE][+-]?\d+)?\s?%?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,(\d{1,2}|\d{4,})")
_DATE = re.compile(
    r"\d{4}-\d\d?-\d\d?([T ]\d\d?:\d\d(:\d\d(\.\d+)?)?\s?(Z|[+-]\d\d:?\d\d)?)?"
    r"|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}/\d\d?/\d\d?"
)
_MAX_VALUE_LENGTH = 40


def kind_of(values: Iterable[Any]) -> str:
    """Return ``number``, ``date`` or ``text``; empty if there are no values."""
    counted = {"number": 0, "date": 0, "text": 0}
    for value in values:
        if value is not None and value != "":
            counted[_kind(value)] += 1
    total = sum(counted.values())
    if not total:
        return ""
    return next((kind for kind, n in counted.items() if n >= _KIND_THRESHOLD * total), "text")


def is_number(text: str) -> bool:
    """Return whether a text is a number as commonly written, or a percentage."""
    text = text.strip()
    return (
        len(text) < _MAX_VALUE_LENGTH
        and any(c.isdigit() for c in text)
        and bool(_NUMBER.fullmatch(text))
    )


def is_date(text: str) -> bool:
    """Return whether a text is a date, with or without a time."""
    return len(text) < _MAX_VALUE_LENGTH and bool(_DATE.fullmatch(text.strip()))


def has_header(rows: Sequence[Sequence[Any]], request: PreviewRequest) -> bool:
    """Return whether the first row is a header, as requested or by its texts."""
    if request.options.get("header") in ("0", "1"):
        return request.options["header"] == "1" and bool(rows)
    if len(rows) < 2:
        return False
    filled = [cell for cell in rows[0] if str(cell).strip()]
    names = {cell.strip() for cell in filled if isinstance(cell, str)}
    is_full = bool(filled) and len(filled) >= 0.5 * len(rows[0])
    return (
        is_full
        and len(names) == len(filled)
        and not any(map(is_date, names))
        and not any(map(is_number, names))
    )


def sort_key(values: Iterable[Any]) -> Callable[[Any], tuple[int, float, str]]:
    """Return a sort key for a column: numbers first, then text, ignoring case."""
    comma = any(isinstance(v, str) and _DECIMAL_COMMA.fullmatch(v.strip()) for v in values)

    def key(value: Any) -> tuple[int, float, str]:
        number = _as_number(value, comma=comma)
        if number is not None:
            return 0, number, ""
        return 1, 0.0, str(value).casefold()

    return key


def column_statistics(rows: Sequence[Sequence[Any]], width: int) -> list[dict[str, Any]]:
    """Return each column's kind, empty cells, distinct values, minimum and maximum."""
    return [
        _statistics([row[at] for row in rows if at < len(row)], len(rows)) for at in range(width)
    ]


def _statistics(values: list[Any], rows: int) -> dict[str, Any]:
    filled = [value for value in values if value is not None and value != ""]
    kind = kind_of(filled)
    distinct = {each if isinstance(each, str | int | float) else str(each) for each in filled}
    statistics: dict[str, Any] = {"kind": kind, "empty": rows - len(filled)}
    statistics["distinct"] = len(distinct)
    ordered = [value for value in filled if _kind(value) == kind]
    if kind in ("number", "date"):
        key = sort_key(ordered)
        statistics["min"], statistics["max"] = (
            _short_text(end(ordered, key=key)) for end in (min, max)
        )
    return statistics


def _short_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    text = str(value).strip()
    return text[:10] if is_date(text) else text[:24]


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "number" if is_number(value) else "date" if is_date(value) else "text"
    if isinstance(value, bool):
        return "text"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, datetime.date | datetime.time):
        return "date"
    return "number" if type(value).__name__ == "Decimal" else "text"


def _as_number(value: Any, *, comma: bool) -> float | None:
    if isinstance(value, str):
        if not is_number(value):
            return None
        digits = re.sub(r"[\s'%\u00a0\u202f]", "", value)
        both = "," in digits and "." in digits
        if comma or (both and digits.rfind(",") > digits.rfind(".")):
            digits = digits.replace(".", "").replace(",", ".")
        value = digits.replace(",", "")
    elif not isinstance(value, int | float) and type(value).__name__ != "Decimal":
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if number != number else number
