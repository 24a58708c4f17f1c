"""Two versions of a text for the page, which compares them; the second file is the earlier."""

from typing import BinaryIO

from sandbox_ui.preview.base import Preview, PreviewError, PreviewRequest
from sandbox_ui.preview.text.encoding import detect_format

MAX_FILE_BYTES = 8 * 1024**2
_INVISIBLE_CHARACTERS = str.maketrans(
    {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"}
    | {0x7F: "␡"}
    | {
        code: f"⟨U+{code:04X}⟩"
        for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)
    }
)


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return the texts ``before`` and ``after``; invisible characters are named."""
    before = _read_text(request.second_file) if request.second_file else ""
    return {"before": before, "after": _read_text(file)}


def _read_text(file: BinaryIO) -> str:
    content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise PreviewError(f"Only texts of up to {MAX_FILE_BYTES // 1024**2} MB are compared.")
    text_format = detect_format(file)
    text = text_format.decode(content[text_format.bom_length :])
    return text.translate(_INVISIBLE_CHARACTERS)
