"""Reads a tool call: what it executes, with a shell grammar and Python's syntax tree."""

from collections.abc import Callable, Mapping
from typing import Any

from agent.capabilities.scan import BudgetSpent, Findings, Scan, remember

BASH, EDITOR, SUBMIT = "execute_bash", "str_replace_editor", "submit"
WORKSPACE = "/workspace"


class CallReader:
    """Reads the calls of one run, in order: a script may be written before it is executed."""

    def __init__(self, read_file: Callable[[str], str | None] = lambda _: None) -> None:
        self._read_file = read_file
        self._folder = WORKSPACE
        self._texts: dict[str, str] = {}

    def read(self, name: str, arguments: Mapping[str, Any]) -> Findings:
        """Return what a call executes and which files it names; never raises."""
        if name == BASH:
            return self._read_command(str(arguments.get("command", "")))
        findings = Findings()
        if name == EDITOR:
            self._read_edit(findings, arguments)
        elif name != SUBMIT:
            findings.unknown = True
        return findings

    def _read_command(self, command: str) -> Findings:
        from agent.capabilities.programs import execute
        from agent.capabilities.python_code import read_python
        from agent.capabilities.shell import read_shell

        interpreters = {"shell": read_shell, "python": read_python}
        scan = Scan(interpreters, execute, self._folder, self._read_file, self._texts)
        try:
            scan.read("shell", command)
        except (BudgetSpent, RecursionError):
            scan.found.partial = True
        self._folder = scan.folder
        return scan.found

    def _read_edit(self, findings: Findings, arguments: Mapping[str, Any]) -> None:
        path, text = str(arguments.get("path", "")), arguments.get("file_text")
        if arguments.get("command") == "view":
            findings.reads(path)
            return
        findings.writes(path)
        if isinstance(text, str):
            remember(self._texts, path if path.startswith("/") else f"{WORKSPACE}/{path}", text)
        elif isinstance(known := self._texts.get(path), str):
            old, new = str(arguments.get("old_str", "")), str(arguments.get("new_str", ""))
            self._texts[path] = known.replace(old, new, 1) if old else known
