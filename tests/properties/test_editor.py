"""The editor compared with a simple model of text: a list of lines and a string."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from agent.errors import ToolError
from agent.tools import editor
from agent.tools.text_file import TextFile
from tests.properties import ANY_TEXT, property_test

PATH = "/workspace/f"
WORDS = st.sampled_from(["a", "b", "ab", "aa", "é", "🎈", "\t", " ", "\x0c", "\x85", "\u2028", ""])
LINE = st.lists(WORDS, max_size=4).map("".join)
TEXT = st.lists(st.one_of(WORDS, st.just("\n")), max_size=12).map("".join)
BYTES = st.builds(
    bytes.__add__,
    st.sampled_from([b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"]),
    st.binary(max_size=60),
)


@dataclass(frozen=True)
class Replace:
    old: str
    new: str

    def on_bytes(self, data: bytes) -> bytes:
        return editor.str_replace(data, PATH, self.old, self.new).data

    def on_text(self, text: str) -> str | None:
        """The expected text; None if the edit must be rejected."""
        found = sum(text.startswith(self.old, at) for at in range(len(text)))
        valid = self.old and self.old != self.new and found == 1
        return text.replace(self.old, self.new) if valid else None


@dataclass(frozen=True)
class Insert:
    at: int
    line: str

    def on_bytes(self, data: bytes) -> bytes:
        return editor.insert(data, PATH, self.at, self.line).data

    def on_text(self, text: str) -> str | None:
        lines = text.split("\n")
        if not 0 <= self.at <= len(lines) - (lines[-1] == ""):
            return None
        return "\n".join([*lines[: self.at], self.line, *lines[self.at :]])


EDITS = st.lists(
    st.builds(Replace, TEXT, TEXT) | st.builds(Insert, st.integers(-1, 14), LINE), max_size=8
)
CODECS: dict[str, Callable[[str], bytes]] = {
    "LF": str.encode,
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "with a mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "UTF-16": lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    "UTF-16, big end first": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
}


@property_test(TEXT, EDITS, st.sampled_from(sorted(CODECS)))
def test_a_sequence_of_edits_matches_the_model(
    text: str, edits: list[Replace | Insert], codec: str
) -> None:
    data = CODECS[codec](text)
    for edit in edits:
        expected = edit.on_text(text)
        try:
            data = edit.on_bytes(data)
        except ToolError:
            assert expected is None
            continue
        assert expected is not None
        if codec == "CRLF" and "\n" not in text:  # there was no line end to detect
            data = data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        text = expected
        assert data == CODECS[codec](text)


def common_prefix_length(one: bytes, other: bytes) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


@property_test(BYTES, ANY_TEXT, ANY_TEXT, st.integers(-2, 9))
def test_an_edit_changes_only_the_specified_bytes(
    data: bytes, old: str, new: str, line: int
) -> None:
    """Even if the bytes are not text, everything before and after the edit is unchanged."""
    assert TextFile.decode(data).encode() == data
    for edit, replaced_bytes in ((Replace(old, new), 6 * len(old)), (Insert(line, new), 0)):
        try:
            edited = edit.on_bytes(data)
        except ToolError:
            continue
        common = common_prefix_length(data, edited) + common_prefix_length(data[::-1], edited[::-1])
        assert common >= len(data) - replaced_bytes


@property_test(st.binary(max_size=40), st.integers(0, 40), ANY_TEXT.filter(bool))
def test_a_replacement_can_be_reversed(data: bytes, at: int, new: str) -> None:
    """A unique text that is replaced and replaced back leaves the same bytes."""
    mark = "«only here»"
    whole = data[:at].decode("utf-8", "ignore") + mark + data[at:].decode("utf-8", "ignore")
    if "\r" in new or "\r" in whole or new in whole:
        return
    once = editor.str_replace(whole.encode(), PATH, mark, new).data
    if once.decode().count(new) == 1:
        assert editor.str_replace(once, PATH, new, mark).data == whole.encode()


NEXT = re.compile(r"The next ones: view_range \[(\d+), (\d+)\]")


@property_test(
    st.lists(st.sampled_from([1, 90, 4_000, 12_000]), min_size=1, max_size=12), st.booleans()
)
def test_following_the_view_notes_shows_every_line_once(widths: list[int], ended: bool) -> None:
    """No view is much longer than a page, for lines of any length."""
    lines = [f"{n}:".ljust(width, "x") for n, width in enumerate(widths)]
    data = ("\n".join(lines) + "\n" * ended).encode()
    line_numbers: list[int] = []
    view_range: tuple[int, int] | None = None
    for _ in widths:
        shown = editor.view(data, PATH, view_range)
        assert len(shown) < editor.MAX_VIEW_CHARACTERS + 1000
        line_numbers += [int(n) for n in re.findall(r"^ *(\d+)\t", shown, re.MULTILINE)]
        more = NEXT.search(shown)
        if more is None:
            break
        view_range = (int(more[1]), int(more[2]))
    assert line_numbers == list(range(1, len(lines) + 1))


@property_test(
    st.binary(max_size=200), st.none() | st.tuples(st.integers(-3, 9), st.integers(-3, 9))
)
def test_any_bytes_are_shown_or_rejected_with_a_message(
    data: bytes, view_range: tuple[int, int] | None
) -> None:
    try:
        shown = editor.view(data, PATH, view_range)
    except ToolError as error:
        shown = str(error)
    shown.encode()
    assert not re.search("[\x00-\x08\x0b\x0d-\x1f\x7f-\x9f]", shown)
