"""Values of Arrow columns for the grid, also those that Python cannot represent.

Python's dates end at the years 1 and 9999 and have no nanoseconds, and Arrow imports libraries
for time zones when it converts the first value, which a confined worker cannot.
"""

import datetime
import zoneinfo
from typing import Any

import pyarrow as pa
from pyarrow import types

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 24 * 60 * 60
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_CONVERSION_ERRORS = (ValueError, OverflowError, TypeError, ImportError, pa.ArrowException)


def column_values(column: Any) -> list[Any]:
    """Return the values of a column; dates and times are text, and null is None."""
    if _is_temporal(column.type):
        return [_temporal(column.type, number) for number in _integers(column)]
    if not types.is_nested(column.type):
        try:
            values: list[Any] = column.to_pylist()
        except _CONVERSION_ERRORS:
            return [_value(each) for each in column]
        return values
    return [_value(each) for each in column]


def _value(scalar: Any) -> Any:
    """Return one value, converted by its own type and those within it."""
    if not scalar.is_valid:
        return None
    kind = scalar.type
    if _is_temporal(kind):
        return _temporal(kind, scalar.value)
    if types.is_struct(kind):
        return {name: _value(each) for name, each in scalar.items()}
    if types.is_map(kind):
        return [tuple(_value(pair).values()) for pair in scalar.values]
    if types.is_nested(kind) and hasattr(scalar, "values"):
        return list(map(_value, scalar.values))
    try:
        return scalar.as_py()
    except _CONVERSION_ERRORS:
        if types.is_string(kind) or types.is_large_string(kind):
            return bytes(scalar.as_buffer()).decode("utf-8", "replace")
        return f"({kind})"


def _is_temporal(kind: Any) -> bool:
    return bool(types.is_temporal(kind)) and not types.is_interval(kind)


def _integers(column: Any) -> list[int | None]:
    width = pa.int32() if column.type.bit_width == 32 else pa.int64()
    numbers: list[int | None] = column.view(width).to_pylist()
    return numbers


def _temporal(kind: Any, number: int | None) -> str | None:
    """Return the text of a date, time, timestamp or duration stored as a number."""
    if number is None:
        return None
    if types.is_date(kind):
        days = number if types.is_date32(kind) else number // (_DAY * 1000)
        return _date(days)
    per_second = _PER_SECOND[kind.unit]
    seconds, rest = divmod(number, per_second)
    fraction = f".{rest:0{len(str(per_second)) - 1}}".rstrip("0") if rest else ""
    if types.is_duration(kind):
        return f"{number / per_second:.15g} s"
    if types.is_time(kind):
        return f"{_time(seconds % _DAY)}{fraction}"
    offset = _offset(kind.tz, seconds) if kind.tz else None
    days, second = divmod(seconds + (offset or 0), _DAY)
    zone = "" if offset is None else _zone(offset)
    return f"{_date(days)} {_time(second)}{fraction}{zone}"


def _date(days: int) -> str:
    """Return the date that is some days after 1970-01-01 (ISO 8601, Gregorian, with a year 0)."""
    era, day = divmod(days + 719_468, 146_097)  # 400 years that begin on 0000-03-01
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153  # from March
    day -= (153 * month + 2) // 5
    year += 400 * era + (month > 9)
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04}-{(month + 2) % 12 + 1:02}-{day + 1:02}"


def _time(second: int) -> str:
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def _offset(zone: str, seconds: int) -> int:
    """Return the seconds by which a zone's time is ahead of UTC; 0 for an unknown zone."""
    try:
        if zone[:1] in ("+", "-"):
            hours, minutes = int(zone[1:3]), int(zone[-2:])
            return (60 * hours + minutes) * (-60 if zone[0] == "-" else 60)
        moment = _EPOCH + datetime.timedelta(seconds=seconds)
        offset = moment.astimezone(zoneinfo.ZoneInfo(zone)).utcoffset()
    except (ValueError, OverflowError, OSError, KeyError, ImportError):
        return 0
    return int(offset.total_seconds()) if offset else 0


def _zone(offset: int) -> str:
    minutes = abs(offset) // 60
    return f"{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
