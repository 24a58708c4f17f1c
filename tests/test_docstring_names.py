"""Docstrings: the names in ``Args:``, ``Attributes:`` and ``Raises:`` exist in the code."""

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.test_structure import SOURCES, module

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(tree: ast.AST) -> Iterator[Definition]:
    return (node for node in ast.walk(tree) if isinstance(node, Definition))


def documented_names(definition: Definition, section: str) -> list[str]:
    """Return the names that a section of a docstring describes."""
    docstring = ast.get_docstring(definition) or ""
    match = re.search(rf"^{section}:\n((?:(?: .*)?\n|(?: .+))*)", docstring, re.MULTILINE)
    text = match[1] if match else ""
    entries = re.findall(r"^ {4}([\w`*][\w.,`* ]*):(?: |$)", text, re.MULTILINE)
    return [name.strip(" `*") for entry in entries for name in entry.split(",")]


@cache
def project_classes() -> dict[str, ast.ClassDef]:
    """Return the classes of the project by name."""
    return {
        each.name: each
        for path in SOURCES
        for each in definitions(ast.parse(path.read_text()))
        if isinstance(each, ast.ClassDef)
    }


@cache
def imported_names() -> dict[str, str]:
    """Return the names that the project imports, with their modules."""
    return {
        alias.name: node.module
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
        for alias in node.names
    }


def base_names(definition: ast.ClassDef) -> list[str]:
    return [ast.unparse(base).partition("[")[0] for base in definition.bases]


def with_base_classes(definition: ast.ClassDef) -> Iterator[ast.ClassDef]:
    """Yield a class and its base classes that the project defines."""
    yield definition
    for name in base_names(definition):
        if name != definition.name and name in project_classes():
            yield from with_base_classes(project_classes()[name])


def parameters(definition: Definition) -> set[str]:
    """Return the parameters of a function, or those for the construction of a class."""
    if isinstance(definition, ast.ClassDef):
        names = set[str]()
        for part in [part for each in with_base_classes(definition) for part in each.body]:
            if isinstance(part, ast.FunctionDef) and part.name in ("__init__", "__new__"):
                names |= parameters(part)
            elif isinstance(part, ast.AnnAssign):  # a field of a dataclass
                names.add(ast.unparse(part.target))
        return names
    return {node.arg for node in ast.walk(definition.args) if isinstance(node, ast.arg)}


def attributes(definition: Definition) -> set[str]:
    """Return the names that a class and its base classes define or assign to ``self``."""
    assert isinstance(definition, ast.ClassDef)
    names = set[str]()
    for each in with_base_classes(definition):
        for base in base_names(each):
            names.update(dir(getattr(builtins, base, object)))
        for node in ast.walk(each):
            if isinstance(node, ast.FunctionDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return names


def is_exception(name: str) -> bool:
    """Whether a name is an exception of Python, of the project or of a library."""
    if name in project_classes():
        return any(is_exception(base) for base in base_names(project_classes()[name]))
    source, _, attribute = name.rpartition(".")
    library = source or imported_names().get(name, "")
    value = getattr(import_module(library) if library else builtins, attribute, None)
    return isinstance(value, type) and issubclass(value, BaseException)


def unknown_names(path: Path) -> Iterator[str]:
    """Yield the names that a module's docstrings describe and its code does not have."""
    for definition in definitions(ast.parse(path.read_text())):
        where = f"{module(path)}.{definition.name}"
        for section, known in (("Args", parameters), ("Attributes", attributes)):
            if documented := documented_names(definition, section):
                for name in sorted(set(documented) - known(definition)):
                    yield f"{where}, {section}: {name}"
        for name in documented_names(definition, "Raises"):
            if not is_exception(name):
                yield f"{where}, Raises: {name}"


def test_names_in_docstrings_exist() -> None:
    assert [name for path in SOURCES for name in unknown_names(path)] == []


@pytest.mark.parametrize(
    ("section", "names"), [("Args", ["a", "b", "c"]), ("Raises", ["json.JSONDecodeError"])]
)
def test_sections_of_docstrings_are_parsed(section: str, names: list[str]) -> None:
    source = '''
def f(a, b, c):
    """Do it.

    Args:
        a: The first, with a
            note: on another line.
        b, c: Two others.

    Raises:
        json.JSONDecodeError: the text is not JSON.
    """
'''
    (definition,) = definitions(ast.parse(source))
    assert documented_names(definition, section) == names
