"""List of the end-to-end paths: what the user does and sees, from the tests' markers.

``@pytest.mark.e2e("Signs in, follows a shared link, …")`` describes the path of a test.
``python -m tests.levels.paths`` writes the list; ``tests/levels/test_levels.py`` compares it.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = ROOT / "tests" / "e2e.md"
MOST_PATHS = 60

_HEAD = f"""# End-to-end paths

What a user does and sees, at most {MOST_PATHS} paths, everything real.
Written by `python -m tests.levels.paths` from the markers of the tests.

| the user | test |
|---|---|
"""


def paths() -> Iterator[tuple[str, str]]:
    """Yield the description of each path, and its test; the description is empty if it lacks."""
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        text = file.read_text()
        if "mark.e2e" not in text:
            continue
        name = file.relative_to(ROOT).as_posix()
        tree = ast.parse(text)
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for each in functions:
            for decorator in each.decorator_list:
                for description in _descriptions(decorator):
                    yield description, f"{name}::{each.name}"
        if any(_descriptions(node) for node in tree.body if isinstance(node, ast.Assign)):
            yield "", name


def _descriptions(tree: ast.AST) -> list[str]:
    """Return the arguments of the markers below a node; of one without, an empty text."""
    marks = [
        node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "e2e"
    ]
    described = {
        node.func: str(ast.literal_eval(node.args[0]))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.func in marks and len(node.args) == 1
    }
    return [described.get(mark, "") for mark in marks]


def table() -> str:
    return _HEAD + "".join(f"| {text} | `{test}` |\n" for text, test in paths())


if __name__ == "__main__":
    LIST.write_text(table())
