"""Two versions of a text, decoded for the page, which compares them.

The file is the later version, ``request.earlier_file`` the earlier one.
"""

from typing import BinaryIO

from agent.util.charset import guess_encoding
from sandbox_ui.preview.base import JsonPreview, PreviewError, PreviewRequest

MAX_FILE_BYTES = 8 * 1024**2
"""Largest version compared, in bytes."""

_BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
_INVISIBLE_CHARACTERS = str.maketrans(
    {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"}
    | {0x7F: "␡"}
    | {
        code: f"⟨U+{code:04X}⟩"
        for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)
    }
)


def view(file: BinaryIO, request: PreviewRequest) -> JsonPreview:
    """Return the texts ``before`` and ``after``; invisible characters are named.

    Raises:
        PreviewError: A version is too large to compare.
    """
    before = _read_text(request.earlier_file) if request.earlier_file else ""
    return JsonPreview({"before": before, "after": _read_text(file)})


def is_text(head: bytes) -> bool:
    """Return whether a file with this start can be compared by lines."""
    return head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" not in head


def _read_text(file: BinaryIO) -> str:
    content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise PreviewError(f"Only texts of up to {MAX_FILE_BYTES // 1024**2} MB are compared.")
    return _decode(content).translate(_INVISIBLE_CHARACTERS)


def _decode(content: bytes) -> str:
    codec = next((codec for bom, codec in _BOMS if content.startswith(bom)), "utf-8")
    try:
        return content.decode(codec)
    except UnicodeDecodeError as error:
        return content.decode(guess_encoding(content, error.start), "replace")
