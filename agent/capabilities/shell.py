"""Reads shell commands with a grammar. The only importer of tree-sitter."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from agent.capabilities.programs import execute, standard_output
from agent.capabilities.scan import Scan

_PARSE_SECONDS = 0.05
_MAX_NESTING = 150
_WRITING = (">", ">>", "&>", "&>>", ">|", "<>")
_READING = ("<",)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_IN_QUOTES = re.compile(r'\\([$`"\\\n])')
_SKIPPED = ("comment", "function_definition")


@cache
def _language() -> Language:
    return Language(tree_sitter_bash.language())


def read_shell(scan: Scan, text: str) -> None:
    """Find what a shell text executes and which files its redirections name."""
    source = text.encode("utf-8", "replace")
    root = _parse(source)
    if root is None:
        scan.found.partial = True
        return
    scan.found.partial |= root.has_error
    _Walk(scan).visit(root)


def _parse(source: bytes) -> Node | None:
    """Return the syntax tree; None if it takes too much CPU time, as a hostile text can."""
    end = time.thread_time() + _PARSE_SECONDS
    try:
        tree = Parser(_language()).parse(
            lambda offset, _: source[offset : offset + 8192],
            progress_callback=lambda *_: time.thread_time() > end,
        )
    except ValueError:
        return None
    return None if tree is None else tree.root_node


@dataclass(frozen=True, slots=True)
class _Input:
    """What a command reads from: a pipe or a file, and its text where that is known."""

    text: str | None = None
    redirections: tuple[Node, ...] = field(default=())


class _Walk:
    """A walk over one text's syntax tree."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self._functions: dict[str, Node] = {}
        self._called: set[str] = set()
        self._variables: dict[str, str] = {}
        self._nesting = 0

    def visit(self, node: Node, given: _Input = _Input()) -> str | None:
        """Visit a node; return the text that it prints, where that is known."""
        self._scan.spend()
        if self._nesting >= _MAX_NESTING:
            self._scan.found.partial = True
            return None
        self._nesting += 1
        try:
            return self._visit(node, given)
        finally:
            self._nesting -= 1

    def _visit(self, node: Node, given: _Input) -> str | None:
        match node.type:
            case "comment":
                return None
            case "function_definition":
                self._define(node)
            case "command":
                return self._command(node, given)
            case "redirected_statement":
                return self._redirected(node, given)
            case "pipeline":
                return self._pipeline(node.named_children, given)
            case "list":
                return self._list(node, given)
            case "subshell":
                folder = self._scan.folder
                self._children(node, given)
                self._scan.folder = folder
            case "variable_assignment":
                self._assign(node)
            case "arithmetic_expansion":
                self._scan.found.compute |= _calculates(node)
                self._children(node)
            case _:
                self._children(node, given)
        return None

    def _children(self, node: Node, given: _Input = _Input()) -> None:
        for child in node.named_children:
            self.visit(child, given)

    def _define(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self._functions[_source(name)] = body

    def _assign(self, node: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if value is None:
            return
        self.visit(value)
        if name is not None:
            self._variables[_source(name)] = self._word(value)

    def _pipeline(self, nodes: list[Node], given: _Input) -> str | None:
        for node in nodes:
            if node.type not in _SKIPPED:
                given = _Input(self.visit(node, given))
        return given.text

    def _list(self, node: Node, given: _Input) -> str | None:
        """Visit a list; redirections after it belong to its last command."""
        *before, last = node.named_children
        for child in before:
            self.visit(child)
        return self.visit(last, given)

    def _redirected(self, node: Node, given: _Input) -> str | None:
        body = node.child_by_field_name("body")
        redirections = [child for child in node.named_children if child != body]
        given = replace(given, redirections=(*redirections, *given.redirections))
        if body is None:
            return self._redirections(given, None)[0]
        if body.type in ("command", "list", "pipeline", "redirected_statement"):
            return self.visit(body, given)
        self.visit(body, _Input(self._redirections(given, None)[0]))
        return None

    def _command(self, node: Node, given: _Input) -> str | None:
        words, redirections = self._words(node, given)
        given = replace(given, redirections=redirections)
        text, targets = self._redirections(given, given.text)
        printed = standard_output(words, text)
        if words and words[0] in self._functions:
            self._call(words[0])
        elif words:
            execute(self._scan, words, text)
        if targets:
            if printed is not None:
                self._scan.remember(targets[-1], printed)
            printed = None
        for redirection in redirections:
            printed = self._behind_heredoc(redirection, printed)
        return printed

    def _words(self, node: Node, given: _Input) -> tuple[list[str], tuple[Node, ...]]:
        """Return a command's words and its redirections; visit what is substituted in them."""
        words: list[str] = []
        redirections: list[Node] = []
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._assign(child)
            elif child.type.endswith("_redirect"):
                redirections.append(child)
            elif child.type != "comment":
                self._substitutions(child)
                words += self._split(child)
        redirections += given.redirections
        words += [self._word(word) for each in redirections for word in _arguments(each)]
        return words, tuple(redirections)

    def _split(self, node: Node) -> list[str]:
        """Return the words that a word stands for: several if it is a variable outside quotes."""
        inner = node.named_children[0] if node.type == "command_name" else node
        whole = inner.type in ("simple_expansion", "expansion")
        return self._word(node).split() if whole else [self._word(node)]

    def _call(self, name: str) -> None:
        if name not in self._called:
            self._called.add(name)
            self.visit(self._functions[name])

    def _redirections(self, given: _Input, text: str | None) -> tuple[str | None, list[str]]:
        """Record redirections; return the known standard input, and the files written."""
        targets: list[str] = []
        for node in given.redirections:
            if node.type == "file_redirect":
                self._file_redirection(node, targets)
            elif node.type == "herestring_redirect":
                for child in node.named_children:
                    self._substitutions(child)
                    text = self._word(child) + "\n"
            elif node.type == "heredoc_redirect":
                text = self._heredoc(node)
                for child in node.named_children:
                    if child.type == "file_redirect":
                        self._file_redirection(child, targets)
        return text, targets

    def _file_redirection(self, node: Node, targets: list[str]) -> None:
        destination = node.child_by_field_name("destination")
        operator = next((child.type for child in node.children if not child.is_named), "")
        if destination is None:
            return
        self._substitutions(destination)
        path = self._word(destination)
        if destination.type == "number" or path.startswith("/dev/") or not path:
            return
        if operator in _READING:
            self._scan.found.reads(path)
        elif operator in _WRITING:
            self._scan.found.writes(path)
            descriptor = node.child_by_field_name("descriptor")
            if descriptor is None or _source(descriptor) == "1":
                targets.append(path)

    def _heredoc(self, node: Node) -> str:
        body = next((child for child in node.named_children if child.type == "heredoc_body"), None)
        if body is None:
            return ""
        self._substitutions(body)
        return _source(body)

    def _behind_heredoc(self, node: Node, printed: str | None) -> str | None:
        """Visit what follows a heredoc's start on its line: a pipe, or another command."""
        if node.type != "heredoc_redirect":
            return printed
        for child in node.named_children:
            if child.type == "pipeline":
                printed = self._pipeline(child.named_children, _Input(printed))
        right = node.child_by_field_name("right")
        return printed if right is None else self.visit(right)

    def _substitutions(self, node: Node) -> None:
        """Visit the commands that are substituted in a word."""
        self._scan.spend()
        for child in _substituted(node, self._scan):
            self.visit(child)

    def _word(self, node: Node) -> str:
        """Return a word's text, without quotes, and with variables that are known."""
        self._scan.spend()
        match node.type:
            case "raw_string":
                return _source(node)[1:-1]
            case "ansi_c_string":
                return _ESCAPE.sub(_unescape, _source(node)[2:-1])
            case "string":
                return self._string(node)
            case "concatenation" | "command_name":
                return "".join(self._word(child) for child in node.named_children)
            case "simple_expansion":
                name = _source(node)[1:]
                return self._variables.get(name, f"${name}")
            case "expansion":
                name = _source(node)[2:-1]
                return self._variables.get(name, f"${name}")
            case "word":
                return _ESCAPE.sub(lambda found: found[1].strip("\n"), _source(node))
        return _source(node)

    def _string(self, node: Node) -> str:
        """Return the text between double quotes; the grammar leaves out spaces between parts."""
        source, start = _bytes(node), node.start_byte
        parts: list[str] = []
        at = 1
        for child in node.named_children:
            if child.type == "string_content":
                continue
            parts.append(
                _IN_QUOTES.sub(_join_lines, source[at : child.start_byte - start].decode())
            )
            parts.append(self._word(child))
            at = child.end_byte - start
        parts.append(_IN_QUOTES.sub(_join_lines, source[at:-1].decode("utf-8", "replace")))
        return "".join(parts)


def _join_lines(found: re.Match[str]) -> str:
    return "" if found[1] == "\n" else found[1]


def _unescape(found: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t", "r": "\r"}.get(found[1], found[1])


def _substituted(node: Node, scan: Scan) -> Iterator[Node]:
    pending = [node]
    while pending:
        scan.spend()
        each = pending.pop()
        if each.type in ("command_substitution", "process_substitution", "arithmetic_expansion"):
            yield each
        else:
            pending += reversed(each.named_children)


def _arguments(node: Node) -> list[Node]:
    """Return the words that follow a heredoc's start: further arguments of its command."""
    if node.type != "heredoc_redirect":
        return []
    return node.children_by_field_name("argument")


def _calculates(node: Node) -> bool:
    return any(child.type.endswith("_expression") for child in node.named_children)


def _bytes(node: Node) -> bytes:
    return node.text or b""


def _source(node: Node) -> str:
    return _bytes(node).decode("utf-8", "replace")
