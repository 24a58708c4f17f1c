"""One pass over what a call executes: what it found, and the bounds of the pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import isabs, join, normpath

MAX_CHARACTERS = 64 * 1024
"""Maximum length of one text that is read; the rest is ignored."""

MAX_DEPTH = 8
"""Maximum depth of programs in programs (``bash -c 'python3 -c …'``)."""

_MAX_TOTAL_CHARACTERS = 4 * MAX_CHARACTERS
_MAX_TEXTS = 64
_MAX_NODES = 40_000
_MAX_SCRIPTS = 32
_MAX_NAME = 64
_MAX_PROGRAMS = 64


class BudgetSpent(Exception):
    """The pass has read as much as it may."""


@dataclass(slots=True)
class Findings:
    """What the texts of a call name; ``unknown`` if they run code whose work is not known."""

    external: bool = False  # it reaches the network or installs something
    file: bool = False  # it reads, writes or lists files
    compute: bool = False  # it calculates, compiles or renders
    unknown: bool = False
    installs: bool = False
    deletes: bool = False
    programs: dict[str, None] = field(default_factory=dict)
    hosts: dict[str, None] = field(default_factory=dict)
    read: dict[str, None] = field(default_factory=dict)
    written: dict[str, None] = field(default_factory=dict)
    partial: bool = False  # a text was read in part

    def add_program(self, name: str) -> None:
        """Record the name of an executed program."""
        if name and len(self.programs) < _MAX_PROGRAMS:
            self.programs[name[:_MAX_NAME]] = None

    def reads(self, path: str) -> None:
        """Record that a file is read."""
        self.file = True
        if len(self.read) < _MAX_PROGRAMS:
            self.read[path] = None

    def writes(self, path: str) -> None:
        """Record that a file is written."""
        self.file = True
        if len(self.written) < _MAX_PROGRAMS:
            self.written[path] = None


Interpreter = Callable[["Scan", str], None]


class Scan:
    """One pass over what a call executes; ``texts`` are those of files that its commands write."""

    def __init__(
        self,
        interpreters: Mapping[str, Interpreter],
        execute: Callable[["Scan", Sequence[str]], None],
        folder: str,
        read_file: Callable[[str], str | None],
        texts: dict[str, str],
    ) -> None:
        self.found = Findings()
        self.folder = folder
        self.texts = texts
        self._interpreters, self._execute = interpreters, execute
        self._read_file = read_file
        self._scripts: set[str] = set()
        self._nodes = _MAX_NODES
        self._characters = _MAX_TOTAL_CHARACTERS
        self._depth = 0

    def spend(self) -> None:
        """Count one node of a syntax tree. Raises ``BudgetSpent`` after too many."""
        self._nodes -= 1
        if self._nodes < 0:
            raise BudgetSpent

    def read(self, language: str, text: str) -> None:
        """Read a text that is executed. Raises ``BudgetSpent`` after too many texts."""
        if self._depth >= MAX_DEPTH or len(text) > MAX_CHARACTERS:
            self.found.partial = True
        if self._depth >= MAX_DEPTH:
            return
        self._characters -= min(len(text), MAX_CHARACTERS)
        if self._characters < 0:
            raise BudgetSpent
        self._depth += 1
        try:
            self._interpreters[language](self, text[:MAX_CHARACTERS])
        finally:
            self._depth -= 1

    def execute(self, arguments: Sequence[str]) -> None:
        """Classify a program that code starts with these arguments."""
        self._execute(self, arguments)

    def run_script(self, language: str, path: str) -> None:
        """Read a script that is executed, if its text is known."""
        path = self.absolute(path)
        if path in self._scripts or len(self._scripts) >= _MAX_SCRIPTS:
            return
        self._scripts.add(path)
        text = self._text(path)
        if text is None:
            self.found.unknown = True
        else:
            self.read(language, text)

    def language(self, path: str) -> str:
        """Return the language of an executable file by its name and first line; or empty."""
        text = self._text(self.absolute(path)) or ""
        first = text.partition("\n")[0] if text.startswith("#!") else ""
        if "python" in first or path.endswith(".py"):
            return "python"
        return "shell" if "sh" in first or path.endswith(".sh") else ""

    def remember(self, path: str, text: str) -> None:
        """Remember the text of a file that a command writes."""
        remember(self.texts, self.absolute(path), text)

    def change_folder(self, path: str) -> None:
        """Follow a ``cd``; a folder that only the shell knows is ignored."""
        if path and not any(sign in path for sign in "$`*?~"):
            self.folder = self.absolute(path)

    def absolute(self, path: str) -> str:
        """Return a path without ``.`` and ``..``, relative ones below the shell's folder."""
        return normpath(path if isabs(path) else join(self.folder, path))

    def _text(self, path: str) -> str | None:
        known = self._read_file(path)
        return self.texts.get(path) if known is None else known


def remember(texts: dict[str, str], path: str, text: str) -> None:
    """Remember a file's text in a bounded memory; the oldest is forgotten first."""
    texts.pop(path, None)
    while len(texts) >= _MAX_TEXTS:
        del texts[next(iter(texts))]
    texts[path] = text[:MAX_CHARACTERS]
