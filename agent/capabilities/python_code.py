"""Reads Python code by its syntax tree and classifies the calls in it."""

import ast
import warnings
from collections.abc import Iterator

from agent.capabilities.programs import host_of, is_local
from agent.capabilities.python_names import (
    COMPUTE_FUNCTIONS,
    COMPUTE_METHODS,
    COMPUTE_MODULES,
    DELETING_FUNCTIONS,
    DELETING_METHODS,
    EXTERNAL_METHODS,
    EXTERNAL_MODULES,
    FILE_METHODS,
    FILE_MODULES,
    NOT_COMPUTE,
    PROCESS_FUNCTIONS,
)
from agent.capabilities.scan import BudgetSpent, Scan

_NAME = "<command>"
_ALWAYS = (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)
_WRITING = set("wax+")
# Reading a model's code must not print its warnings (invalid escapes) in this process.
warnings.filterwarnings("ignore", module=_NAME)

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def read_python(scan: Scan, text: str) -> None:
    """Find what Python code calls; code that does not parse is not executed, either."""
    try:
        tree = ast.parse(text, _NAME)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        scan.found.partial = True
        return
    _Reader(scan, tree).read()


class _Reader:
    """Classifies the calls and operations of one module."""

    def __init__(self, scan: Scan, tree: ast.Module) -> None:
        self._scan, self._found = scan, scan.found
        self._tree = tree
        self._names: dict[str, str] = {}
        self._modules: set[str] = set()
        self._paths: set[str] = set()
        self._used: set[str] = set()
        self._constants: dict[str, str] = {}

    def read(self) -> None:
        nodes: list[ast.AST] = []
        try:
            for node in ast.walk(self._tree):
                self._scan.spend()
                self._collect(node)
                nodes.append(node)
        except BudgetSpent:
            self._found.partial = True
        if any(isinstance(node, _Function) and self._is_unused(node) for node in nodes):
            nodes = list(self._executed())
        for node in nodes:
            if isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, ast.BinOp | ast.AugAssign):
                self._found.compute |= self._calculates(node)

    def _collect(self, node: ast.AST) -> None:
        """Record imports, the names that are used, and what names stand for paths or texts."""
        match node:
            case ast.Import():
                for alias in node.names:
                    name = alias.name if alias.asname else alias.name.partition(".")[0]
                    self._names[alias.asname or name] = name
            case ast.ImportFrom() if node.module and not node.level:
                for alias in node.names:
                    self._names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            case ast.Name(ctx=ast.Load()):
                self._used.add(node.id)
            case ast.Attribute(ctx=ast.Load()):
                self._used.add(node.attr)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                self._constants[name] = text
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value):
                if self._dotted(value.func).startswith("pathlib."):
                    self._paths.add(name)

    def _executed(self) -> Iterator[ast.AST]:
        """Yield the nodes outside the bodies of functions that nothing in the module names."""
        pending: list[ast.AST] = [self._tree]
        while pending:
            node = pending.pop()
            if isinstance(node, _Function) and self._is_unused(node):
                continue
            yield node
            pending += ast.iter_child_nodes(node)

    def _is_unused(self, node: _Function) -> bool:
        named = node.name in self._used or node.name.startswith("__")
        return not named and not node.decorator_list

    def _dotted(self, node: ast.AST) -> str:
        """Return a name with its module, as ``numpy.linalg.solve``; empty if it is none."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join(
            [self._names.get(node.id, f"?{node.id}" if parts else node.id), *parts[::-1]]
        )

    def _call(self, node: ast.Call) -> None:
        name, found = self._dotted(node.func), self._found
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        unresolved = not name or name.startswith("?")
        if name == "open" or (unresolved and method == "open"):
            self._open(node, name == "open")
        elif name in PROCESS_FUNCTIONS:
            self._process(node)
        elif _is_in(name, EXTERNAL_MODULES) or method in EXTERNAL_METHODS:
            self._network(node)
        elif name.startswith("pandas.read_"):
            self._network(node, only_with_url=True)
        elif _is_in(name, COMPUTE_MODULES):
            found.compute |= not _is_in(name, NOT_COMPUTE)
        elif name in COMPUTE_FUNCTIONS or (unresolved and method in COMPUTE_METHODS):
            found.compute = True
        found.deletes |= name in DELETING_FUNCTIONS or method in DELETING_METHODS
        if _is_in(name, FILE_MODULES) or method in FILE_METHODS:
            found.file = True

    def _open(self, node: ast.Call, is_function: bool) -> None:
        """Record the path and mode of ``open(path, mode)`` or ``path.open(mode)``."""
        arguments = node.args if is_function else [None, *node.args]
        path = self._text(arguments[0]) if arguments else ""
        mode = self._text(arguments[1]) if len(arguments) > 1 else ""
        for keyword in node.keywords:
            mode = self._text(keyword.value) if keyword.arg == "mode" else mode
        if not path:
            self._found.file = True
        elif _WRITING.intersection(mode):
            self._found.writes(path)
        else:
            self._found.reads(path)

    def _network(self, node: ast.Call, *, only_with_url: bool = False) -> None:
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
        hosts = [host for value in values if (host := host_of(self._text(value)))]
        remote = [host for host in hosts if not is_local(host)]
        self._found.hosts |= dict.fromkeys(remote)
        self._found.external |= bool(remote) or not (hosts or only_with_url)
        self._found.file |= only_with_url and not hosts

    def _process(self, node: ast.Call) -> None:
        """Classify the command that ``subprocess.run`` and the like execute."""
        first = node.args[0] if node.args else None
        if isinstance(first, ast.List | ast.Tuple):
            self._scan.execute([self._text(each) or self._python_of(each) for each in first.elts])
        elif text := self._text(first):
            self._scan.read("shell", text)
        else:
            self._found.unknown = True

    def _python_of(self, node: ast.AST) -> str:
        return "python3" if self._dotted(node) == "sys.executable" else "?"

    def _text(self, node: ast.AST | None) -> str:
        """Return a text that the code alone tells; empty otherwise."""
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name):
                return self._constants.get(name, "")
            case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
                return text
        return ""

    # Arithmetic

    def _calculates(self, node: ast.BinOp | ast.AugAssign) -> bool:
        """Return whether an operation is arithmetic, and not on texts, paths or lists."""
        operands = [node.left if isinstance(node, ast.BinOp) else node.target]
        operands.append(node.right if isinstance(node, ast.BinOp) else node.value)
        if any(self._is_other(operand) for operand in operands):
            return False
        if isinstance(node.op, _ALWAYS):
            return True
        if not isinstance(node.op, ast.Add | ast.Sub):
            return False
        numbers = [isinstance(operand, ast.Constant) for operand in operands]
        if isinstance(node, ast.AugAssign):
            return True
        return all(numbers) or (isinstance(node.op, ast.Sub) and not any(numbers))

    def _is_other(self, node: ast.AST) -> bool:
        match node:
            case (
                ast.Constant(value=str() | bytes()) | ast.JoinedStr() | ast.List() | ast.ListComp()
            ):
                return True
            case ast.Tuple() | ast.Dict() | ast.Set():
                return True
            case ast.Name(id=name):
                return name in self._paths or name in self._constants
            case ast.BinOp(left=left, op=ast.Div() | ast.Add() | ast.Mod()):
                return self._is_other(left)
            case ast.Call(func=func):
                name = self._dotted(func)
                method = func.attr if isinstance(func, ast.Attribute) else ""
                texts = (
                    "join",
                    "format",
                    "strip",
                    "upper",
                    "lower",
                    "replace",
                    "read",
                    "read_text",
                )
                return name.startswith("pathlib.") or name in ("str", "repr") or method in texts
            case ast.Attribute(attr=name):
                return name in ("parent", "name", "stem", "suffix")
        return False


def _is_in(name: str, modules: frozenset[str]) -> bool:
    """Return whether a dotted name is one of ``modules`` or in one of them."""
    while name:
        if name in modules:
            return True
        name = name.rpartition(".")[0]
    return False
