"""The meter of JSON, against the parser."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_ui.limits.json_meter import JsonMeter, JsonRefused

VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='a"\\,[]{}\u2c22é\n'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='a"\\,{'), inner),
    max_leaves=20,
)


def size_of(value: Any) -> tuple[int, int]:
    """Return the number of values, and of levels, that a parser made."""
    if not isinstance(value, list | dict):
        return 1, 0
    children = [size_of(each) for each in (value.values() if isinstance(value, dict) else value)]
    return 1 + sum(count for count, _ in children), 1 + max((d for _, d in children), default=0)


def feed(data: bytes, values: int, depth: int = 99, piece: int = 1 << 20) -> None:
    meter = JsonMeter(values, depth)
    for start in range(0, len(data), piece):
        meter.feed(data[start : start + piece])


@given(VALUES, st.integers(1, 9), st.sampled_from([None, 2]), st.booleans())
def test_it_counts_no_less_than_the_parser_makes_in_pieces_of_any_size(
    value: Any, piece: int, indent: int | None, ascii_only: bool
) -> None:
    data = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    values, depth = size_of(value)
    feed(data, 2 * values, depth, piece)  # an empty array or object counts twice
    for limits in ((values - 1, depth), (2 * values, depth - 1)):
        if min(limits) >= 0:
            with pytest.raises(JsonRefused):
                feed(data, *limits, piece)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[" + b"[]," * 1000 + b"1]", "at most 100 values"),
        (b"{" + b",".join(b'"%d":1' % at for at in range(1000)) + b"}", "at most 100 values"),
        (b"[" * 20, "at most 16 levels"),
        (b"[]" + b"]" * 1000, "not JSON"),
        (b"[" + b"1" * 101 + b"]", "at most 100 digits"),
        (json.dumps(["\u2200", *range(1000)], ensure_ascii=False).encode("utf-16"), "not JSON"),
        (json.dumps(["\u2200", *range(1000)], ensure_ascii=False).encode("utf-32"), "not JSON"),
    ],
    ids=["arrays", "members", "levels", "ends", "digits", "utf-16", "utf-32"],
)
def test_what_would_cost_a_parser_much_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(JsonRefused, match=reason):
        feed(data, 100, 16)
