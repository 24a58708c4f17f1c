"""Sanitizing of untrusted text: escape sequences, control and hidden characters."""

import re
from collections.abc import Iterator, Sequence
from unicodedata import category

_REPLACEMENTS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\f"}
_REPLACEMENTS |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_REPLACEMENTS |= dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)
_CONTROL = re.compile("[\x00-\x08\x0b\x0d-\x1f\x7f-\x9f\ud800-\udfff]")

_CSI = re.compile(r"\x1b\[[0-?]*[ -/]*")
_ESCAPE = re.compile(r"\x1b[ -/]*")
_STRING_END = re.compile(r"[\x07\x18\x1a\x1b\n]")
_MAX_SEQUENCE_LENGTH = 256

_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
"""Characters without a shape, and those that change the order of others."""

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"  # but tabs and line ends
_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_LOOKALIKES = (
    "\u01c3\u037e\u0589\u05c3\u2024\u2044\u2215\u29f8\ua789\uff01-\uff5e\U0001d400-\U0001d7ff"
)
"""Characters that look like ASCII's wherever they stand."""

_LATIN_LOOKING = "аеікорсухһјѕԁԛԝѵАВЕІЈКМНОРСТУХЅαινορυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
"""Letters of Cyrillic and Greek that look like Latin ones."""

_PLAIN = re.compile(r"[\t\n\x20-\x7e]*")

# Compiled on first use: few texts need them, and compiling them takes milliseconds of each start
_SURROGATE = "[\ud800-\udfff]"
_ALWAYS = f"[{_UNSEEN}{_CONTROLS}{_SPACES}{_LOOKALIKES}]"
_LOOKS_LATIN = f"[{_LATIN_LOOKING}]"
_OTHER_SCRIPT = f"(?=[\u0370-\u03ff\u0400-\u052f])[^{_LATIN_LOOKING}]"
_LATIN = "[A-Za-z]"
_MIXED_WORD = f"[A-Za-z{_LATIN_LOOKING}]+"
_FORMAT_CONTROLS = "[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"


def sanitize(text: str) -> str:
    """Replace controls except tabs, newlines and form feeds by visible characters, one each."""
    return text.translate(_REPLACEMENTS) if _CONTROL.search(text) else text


def replace_surrogates(text: str) -> str:
    """Replace each lone surrogate, which cannot be encoded, by ``�``."""
    return text if text.isascii() else re.sub(_SURROGATE, "\ufffd", text)


def quote(text: str) -> str:
    """Return ``text`` shortened and in ASCII, for a message."""
    return ascii(shortened(text, 80))


def one_line(text: str) -> str:
    """Return sanitized text without newlines, so that a name stays on one line."""
    return sanitize(text).replace("\n", "␊").replace("\f", "␌")


def without_controls(text: str) -> str:
    """Return a text without control characters, but line ends, and without lone surrogates."""
    kept = (each for each in text if each == "\n" or category(each) not in ("Cc", "Cs"))
    return "".join(kept)


def shortened(text: str, limit: int) -> str:
    """Return at most ``limit`` characters of a text, with ``…`` for the rest."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def without_middle(text: str, limit: int) -> str:
    """Return at most ``limit`` characters of a text: its ends, and how much is left out."""
    if len(text) <= limit:
        return text
    half = max(0, limit - 40) // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters left out]\n{text[-half:]}"


def mark_hidden(text: str) -> str:
    """Return the text with hidden characters as codes, for example ``⟨U+202E⟩``.

    These are controls but tabs and line ends, what has no shape or changes the order of others,
    spaces that are not ASCII's, what looks like a character of ASCII, and, among Latin letters,
    those of Cyrillic and Greek that look Latin.
    """
    if _PLAIN.fullmatch(text):
        return text
    return "\n".join(map(_mark_line, text.split("\n")))


def mark_format_controls(text: str) -> str:
    """Return prose with the characters that reorder or hide others as codes."""
    return text if text.isascii() else re.sub(_FORMAT_CONTROLS, lambda at: _code(at[0]), text)


def _code(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩"


def _mark_line(line: str) -> str:
    hidden = {*_positions(_ALWAYS, line), *_latin_looking(line)}
    return "".join(_code(each) if at in hidden else each for at, each in enumerate(line))


def _latin_looking(line: str) -> Iterator[int]:
    if re.search(_LATIN, line) and not re.search(_OTHER_SCRIPT, line):
        yield from _positions(_LOOKS_LATIN, line)
        return
    for word in re.finditer(_MIXED_WORD, line):
        if re.search(_LATIN, word.group()):
            yield from (word.start() + at for at in _positions(_LOOKS_LATIN, word.group()))


def _positions(pattern: str, text: str) -> Iterator[int]:
    return (match.start() for match in re.finditer(pattern, text))


class EscapeFilter:
    """Removes terminal escape sequences (CSI, OSC, DCS, …) from text in chunks.

    A sequence may be split anywhere. An OSC or DCS string without a terminator ends at a newline.
    """

    def __init__(self) -> None:
        self._incomplete = ""
        self._in_string = False

    def feed(self, text: str) -> str:
        """Return ``text`` without the parts that belong to escape sequences."""
        if not self._incomplete and not self._in_string and "\x1b" not in text:
            return text
        text, self._incomplete = self._incomplete + text, ""
        parts: list[str] = []
        position = 0
        while position < len(text):
            if self._in_string:
                position = self._skip_string(text, position)
                continue
            escape = text.find("\x1b", position)
            if escape < 0:
                parts.append(text[position:])
                break
            parts.append(text[position:escape])
            position = self._skip_sequence(text, escape)
        return "".join(parts)

    def _skip_string(self, text: str, position: int) -> int:
        """Return the end of the string; an ESC or newline that ends it is not consumed."""
        end = _STRING_END.search(text, position)
        if end is None:
            return len(text)
        self._in_string = False
        return end.start() if end.group() in "\x1b\n" else end.end()

    def _skip_sequence(self, text: str, escape: int) -> int:
        """Return the end of the sequence at ``escape``; hold back an incomplete one."""
        match = _CSI.match(text, escape) or _ESCAPE.match(text, escape)
        end = match.end() if match else escape + 1
        if end == len(text):
            if end - escape <= _MAX_SEQUENCE_LENGTH:
                self._incomplete = text[escape:]
            return end
        if text[end] in "]PX^_" and end == escape + 1:
            self._in_string = True
            return end + 1
        return end + 1 if "0" <= text[end] <= "~" else end


def plural(count: int, noun: str, many: str = "") -> str:
    """Return a count with its noun: ``1 step``, ``2,000 steps``."""
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"


def format_size(count: float) -> str:
    """Format a number of bytes: ``12 bytes``, ``3.1 MB``."""
    if count == 1:
        return "1 byte"
    units = ["bytes", "KB", "MB", "GB"]
    while count >= 1000 and len(units) > 1:
        count /= 1024
        units.pop(0)
    digits = 1 if units[0] != "bytes" and count < 10 else 0
    return f"{count:.{digits}f} {units[0]}"


def format_duration(seconds: float) -> str:
    """Format a duration: ``45 s``, ``12 min``, ``1.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def common_prefix_length(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the length of the common prefix: characters of two texts, or items of two lists."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
