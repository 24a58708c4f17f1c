r"""View, create, str_replace and insert on a file's bytes, without I/O.

An edit keeps all bytes around it: the encoding (UTF-8, UTF-16 with its byte order mark, or
an older one such as windows-1251), bytes that are not text, tabs, form feeds, CRLF, LF or a
mixture, and a missing last line end. Inserted text is written in the file's encoding.

Line ends in an edit: a ``\n`` in ``old_str`` matches the file's line end, LF or CRLF; if
``old_str`` contains a ``\r``, it is matched literally. Inserted text gets the line ends of the
surrounding lines, unless it contains a ``\r``.
"""

from dataclasses import dataclass

from agent.errors import ToolError
from agent.tools.text_file import (
    FilePage,
    TextFile,
    crlf_position,
    find_occurrences,
    with_line_ends,
)
from agent.util.charset.guess import encoding_label
from agent.util.text import common_prefix_length, plural

MAX_FILE_BYTES = 32 * 1024**2  # size limit in bytes of a file to view or edit
MAX_VIEW_CHARACTERS = 10_000  # characters of a file shown by one view
MAX_SNIPPET_CHARACTERS = 4_000  # characters of the snippet shown after an edit
_CONTEXT_LINES = 4
_MAX_LISTED_OCCURRENCES = 5
_BINARY_CHECK_CHARACTERS = 8_000


@dataclass(frozen=True, slots=True)
class EditResult:
    """A file's new bytes, and the message about them to the model."""

    data: bytes
    message: str


def view(data: bytes, path: str, view_range: tuple[int, int] | None = None) -> str:
    """Return a file's numbered lines, of a range from 1; -1 or a line past the end is the last."""
    text = TextFile.decode(data)
    if "\0" in text.content[:_BINARY_CHECK_CHARACTERS]:
        raise ToolError(
            f"{path} is a binary file ({len(data)} bytes, beginning with {data[:8].hex(' ')}). "
            "Use execute_bash to look into it."
        )
    if not text.content:
        return f"(empty file: {path})"
    first, last = _resolve_range(view_range, text.line_count)
    page = text.page(
        first, last, limit=MAX_VIEW_CHARACTERS, max_line_length=MAX_VIEW_CHARACTERS - 100
    )
    notes = [*_clip_notes(text, page, first, last), *_format_notes(text, page)]
    body = "\n".join([page.text, *notes])
    return f"Here's the content of {path}, numbered as by `cat -n`:\n{body}"


def create(path: str, file_text: str) -> EditResult:
    """Create a file with exactly ``file_text``, in UTF-8, without echoing it."""
    text = TextFile(file_text)
    data = text.encode()
    size = f"{plural(text.line_count, 'line')}, {plural(len(data), 'byte')}"
    ending = "" if text.ends_with_newline else ", without a line end after the last line"
    return EditResult(data, f"File created at {path}. It has {size}{ending}.")


def str_replace(data: bytes, path: str, old_str: str, new_str: str) -> EditResult:
    """Replace the only occurrence of ``old_str``."""
    if not old_str:
        raise ToolError("old_str is empty. To add text, use insert; to make a file, create.")
    if old_str == new_str:
        raise ToolError(f"old_str and new_str are the same: nothing would change in {path}.")
    text = TextFile.decode(data)
    start, added, end = _find_replacement(text, path, old_str, new_str)
    if added == text.content[start:end]:
        raise ToolError(f"Only line ends differ, as {path} has them: nothing would change.")
    return _apply_edit(text, path, start, end, added)


def insert(data: bytes, path: str, insert_line: int, new_str: str) -> EditResult:
    """Insert lines after line ``insert_line`` (0: at the top); a missing last line end stays."""
    text = TextFile.decode(data)
    if not 0 <= insert_line <= text.line_count:
        raise ToolError(f"Invalid insert_line {insert_line}. Must be in [0, {text.line_count}].")
    start = text.line_start(insert_line + 1)
    line_end = text.line_end_near(max(start - 1, 0))
    added = with_line_ends(new_str, line_end)
    after_unterminated_line = start == len(text.content) and not text.ends_with_newline
    return _apply_edit(
        text, path, start, start, line_end + added if after_unterminated_line else added + line_end
    )


def _find_replacement(
    text: TextFile, path: str, old_str: str, new_str: str
) -> tuple[int, str, int]:
    """Return the start of the range to replace, its new text, and its end, without shared ends."""
    content = text.content
    if "\r" in old_str:
        at = _find_unique(text, content, path, old_str)
        return at, new_str, at + len(old_str)
    at = _find_unique(text, content.replace("\r\n", "\n"), path, old_str)
    head = tail = 0
    if "\r" not in new_str:
        head = common_prefix_length(old_str, new_str)
        tail = common_prefix_length(old_str[head:][::-1], new_str[head:][::-1])
    start = crlf_position(content, at + head)
    end = crlf_position(content, at + len(old_str) - tail)
    added = new_str[head : len(new_str) - tail]
    matched = content[start:end]
    if "\n" in matched:
        line_end = "\r\n" if "\r\n" in matched else "\n"
    else:
        line_end = text.line_end_near(end)
    return start, with_line_ends(added, line_end), end


def _find_unique(text: TextFile, content: str, path: str, old_str: str) -> int:
    """Return the position of ``old_str`` in ``content``, the text to match against."""
    positions = find_occurrences(content, old_str, _MAX_LISTED_OCCURRENCES + 1)
    if not positions:
        hint = " Bytes that are not text, shown as �, cannot be matched." * (not text.is_text)
        raise ToolError(f"No occurrences of old_str found in {path} for replacement.{hint}")
    if len(positions) > 1:
        count = max(content.count(old_str), len(positions))
        line_numbers = [
            str(content.count("\n", 0, at) + 1) for at in positions[:_MAX_LISTED_OCCURRENCES]
        ]
        more = ", …" if count > len(line_numbers) else ""
        raise ToolError(
            f"Multiple occurrences ({count}) of old_str found in {path}, beginning in lines "
            f"{', '.join(line_numbers)}{more}. Please ensure it is unique before using str_replace."
        )
    return positions[0]


def _apply_edit(text: TextFile, path: str, start: int, end: int, added: str) -> EditResult:
    _refuse_unencodable(text, path, added)
    new = text.splice(start, end, added)
    first = new.content.count("\n", 0, start) + 1
    last = min(new.line_count, first + added.count("\n") + _CONTEXT_LINES)
    note = ""
    if text.codec == "utf-8" and not added.isascii() and not text.is_text:
        note = "\nThe file is not UTF-8 throughout; what you added was written as UTF-8."
    snippet = _snippet(new, path, first - _CONTEXT_LINES, last)
    message = f"The file {path} has been edited. {snippet}{note}"
    return EditResult(new.encode(), message)


def _refuse_unencodable(text: TextFile, path: str, added: str) -> None:
    if text.codec == "utf-8":
        return
    try:
        added.encode(text.codec)
    except UnicodeEncodeError as error:
        codec, missing = encoding_label(text.codec), added[error.start]
        raise ToolError(
            f"{path} is encoded in {codec}, which does not have the character {missing}. Nothing "
            "was changed. Use other characters, or convert the file first with execute_bash, for "
            f"example `iconv -f {codec} -t utf-8`."
        ) from error


def _snippet(text: TextFile, path: str, first: int, last: int) -> str:
    if not text.content:
        return "It is empty now."
    first = min(max(1, first), text.line_count)
    page = text.page(
        first, last, limit=MAX_SNIPPET_CHARACTERS, max_line_length=MAX_SNIPPET_CHARACTERS // 10
    )
    cut = f"\n(lines {page.last_line + 1}-{last} are not shown)" if page.last_line < last else ""
    return f"Here's a snippet of {path}:\n{page.text}{cut}"


def _resolve_range(view_range: tuple[int, int] | None, lines: int) -> tuple[int, int]:
    if view_range is None:
        return 1, lines
    first, last = view_range
    wrong = f"Invalid view_range [{first}, {last}]."
    if not 1 <= first <= lines:
        raise ToolError(f"{wrong} The first line must be in [1, {lines}].")
    if last != -1 and last < first:
        raise ToolError(f"{wrong} The last line must be -1 (the end) or at least {first}.")
    return first, lines if last == -1 else min(last, lines)


def _clip_notes(text: TextFile, page: FilePage, first: int, last: int) -> list[str]:
    """Return notes on the parts not shown and how to view them, if any."""
    notes = []
    if page.truncated:
        notes.append(
            f"Line {first} is too long to be shown whole. "
            "To see other parts of it use execute_bash, for example `cut -c` or a short script."
        )
    if page.last_line < last:
        notes.append(
            f"To save context only lines {first}-{page.last_line} of {text.line_count} are shown. "
            f"The next ones: view_range [{page.last_line + 1}, {last}]; to search: `grep -n`."
        )
    if notes:
        return [f"<response clipped><NOTE>{' '.join(notes)}</NOTE>"]
    complete = (first, page.last_line) == (1, text.line_count)
    return [] if complete else [f"(lines {first}-{page.last_line} of {text.line_count})"]


def _format_notes(text: TextFile, page: FilePage) -> list[str]:
    """Return notes on properties of the file that the numbered lines cannot show."""
    ends, crlf = text.content.count("\n"), text.content.count("\r\n")
    notes = []
    if crlf:
        which = "lines end" if crlf == ends else f"{crlf} of {ends} lines end"
        notes.append(f"({which} in CRLF)")
    if page.last_line == text.line_count and not text.ends_with_newline:
        notes.append("(no line end after the last line)")
    if text.bom and text.codec != "utf-8":
        notes.append("(encoded in UTF-16; edits keep it)")
    elif text.codec != "utf-8":
        notes.append(f"(encoded in {encoding_label(text.codec)}, it seems; edits keep it)")
    if "�" in page.text and not text.is_text:
        notes.append("(� stands for a byte that is not text)")
    return notes
