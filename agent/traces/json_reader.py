"""A JSON reader for files of any size and any content, in constant memory."""

import codecs
import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, BinaryIO, TextIO

from agent.errors import TraceError

MAX_VALUE_CHARACTERS = 16 * 1024**2  # of the JSON text of one value, such as a step
_BLOCK = 256 * 1024
_MAX_NAME_CHARACTERS = 80
_SPACE = re.compile(r"[ \t\r\n]*")
_IN_STRING = re.compile(r'(?:[^"\\]+|\\.)*', re.DOTALL)
_BETWEEN_BRACKETS = re.compile(r'[^"\[\]{}]*')
_SCALAR = re.compile(r"[-+.\w]*")
_TOO_LONG = "a value of more than 16 MB cannot be read"


class JsonReader:
    """Reads the JSON documents of a file; values not taken are skipped. Raises ``TraceError``."""

    def __init__(self, file: BinaryIO, name: str, line: int = 1) -> None:
        self._file = file
        self._name = name[-_MAX_NAME_CHARACTERS:]
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0
        self._lines = line - 1  # before ``_text``
        self._complete = False
        self._path: list[str] = []
        self._copy: TextIO | None = None
        self._copied = 0
        self._pending = False  # whether the value at hand was not taken yet
        self._scan = json.JSONDecoder(strict=False).scan_once  # type: ignore[attr-defined]

    @property
    def line(self) -> int:
        """The number of the line that is being read."""
        return self._lines + self._text.count("\n", 0, self._at) + 1

    @property
    def place(self) -> str:
        """The file, the line and the field of the value at hand."""
        field = "".join(self._path).lstrip(".")
        return f"{self._name}, line {self.line}" + (f", {field}" if field else "")

    def error(self, problem: str) -> TraceError:
        """Return an error about the value at hand."""
        return TraceError(f"{self.place}: {problem}.")

    def documents(self) -> Iterator[int]:
        """Stop before each top-level value; yield its number, from 0."""
        number = 0
        while self._peek():
            yield from self._stop(number, "")
            number += 1

    def members(self) -> Iterator[str]:
        """Stop before each value of the object at hand; yield its name."""
        self._enter("{", "an object")
        more = self._peek() != "}"
        while more:
            if self._peek() != '"':
                raise self.error("a field's name in quotes was expected")
            name = self._string()
            self._expect(":")
            yield from self._stop(name, f".{name[:_MAX_NAME_CHARACTERS]}")
            more = self._continues("}")
        self._expect("}")

    def elements(self) -> Iterator[int]:
        """Stop before each value of the array at hand; yield its index."""
        self._enter("[", "a list")
        more, index = self._peek() != "]", 0
        while more:
            yield from self._stop(index, f"[{index}]")
            index += 1
            more = self._continues("]")
        self._expect("]")

    def kind(self) -> str:
        """Return the first character of the value at hand; empty at the end of the file."""
        return self._peek()

    def value(self) -> Any:
        """Return the value at hand."""
        self._pending = False
        self._peek()
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except StopIteration as error:
                self._need_more(int(error.value))
            except json.JSONDecodeError as error:
                unfinished = error.msg.startswith("Unterminated string")
                self._need_more(len(self._text) if unfinished else error.pos)
            except (RecursionError, ValueError) as error:
                raise self.error("the value is nested too deeply or has too many digits") from error
            else:
                if end < len(self._text) or self._complete:
                    self._at = end
                    return value
                self._need_more(end)

    def skip(self) -> None:
        """Skip the value at hand."""
        self._pending = False
        if self._peek() not in ("[", "{"):
            return self._skip_scalar()
        depth = 0
        while True:
            self._advance(_BETWEEN_BRACKETS)
            mark = self._peek()
            if not mark:
                raise self.error("the file ends in the middle of a value")
            if mark == '"':
                self._skip_string()
                continue
            self._at += 1
            depth += 1 if mark in "[{" else -1
            if not depth:
                return None

    def copy(self, file: TextIO) -> None:
        """Copy the JSON text of the value at hand to a file, and skip it. Raises ``OSError``."""
        self._peek()
        self._copy, self._copied = file, self._at
        try:
            self.skip()
            file.write(self._text[self._copied : self._at])
        finally:
            self._copy = None

    def _stop(self, item: Any, path: str) -> Iterator[Any]:
        """Yield once before a value, then skip what is left of it."""
        self._path.append(path)
        self._pending = True
        yield item
        if self._pending:
            self.skip()
        self._path.pop()

    def _enter(self, mark: str, what: str) -> None:
        self._pending = False
        if self._peek() != mark:
            raise self.error(f"{what} was expected")
        self._at += 1

    def _expect(self, mark: str) -> None:
        if self._peek() != mark:
            raise self.error(f"“{mark}” was expected")
        self._at += 1

    def _continues(self, end: str) -> bool:
        """Take a comma; return False before the end of an array or object."""
        if self._peek() == end:
            return False
        self._expect(",")
        return True

    def _string(self) -> str:
        while True:
            try:
                text, end = scanstring(self._text, self._at + 1, False)
            except json.JSONDecodeError as error:
                unfinished = error.msg.startswith("Unterminated string")
                self._need_more(len(self._text) if unfinished else error.pos)
            else:
                self._at = end
                return str(text)

    def _skip_scalar(self) -> None:
        if self._peek() == '"':
            return self._skip_string()
        if not _SCALAR.fullmatch(self._peek() or "?"):
            raise self.error("a value was expected")
        return self._advance(_SCALAR)

    def _skip_string(self) -> None:
        self._at += 1
        self._advance(_IN_STRING)
        if self._text[self._at : self._at + 1] != '"':
            raise self.error("the file ends in the middle of a text")
        self._at += 1

    def _advance(self, pattern: "re.Pattern[str]") -> None:
        """Move behind what the pattern matches, however long it is."""
        while True:
            found = pattern.match(self._text, self._at)
            self._at = found.end() if found else self._at
            # A backslash at the end belongs to the next character.
            if len(self._text) - self._at > 1 or not self._fill(_BLOCK):
                return

    def _peek(self) -> str:
        while True:
            found = _SPACE.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill(_BLOCK):
                return ""

    def _need_more(self, position: int) -> None:
        """Read on if the value may be unfinished; else it is not valid JSON."""
        # What a scanner cannot finish (``-Infinit``) is shorter than this.
        if position < len(self._text) - 16 or self._complete:
            self._at = min(position, len(self._text))
            problem = "the file ends too early" if self._at >= len(self._text) else "invalid JSON"
            raise self.error(problem)
        length = len(self._text) - self._at
        if length > MAX_VALUE_CHARACTERS:
            raise self.error(_TOO_LONG)
        self._fill(max(_BLOCK, length))  # doubles, so that reading again costs little

    def _fill(self, size: int) -> bool:
        """Read on; return False at the end of the file."""
        if self._complete:
            return False
        try:
            data = self._file.read(size)
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise self.error("the text is not UTF-8") from error
        except OSError as error:
            raise self.error(f"the file cannot be read ({error.strerror or error})") from error
        self._complete = not data
        if self._copy is not None:
            self._copy.write(self._text[self._copied : self._at])
            self._copied = 0
        self._lines += self._text.count("\n", 0, self._at)
        self._text = self._text[self._at :] + text
        self._at = 0
        return bool(data)
