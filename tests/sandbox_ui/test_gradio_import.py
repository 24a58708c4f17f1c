"""Importing Gradio writes no type stubs."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sandbox_ui
from gradio import component_meta
component_meta.create_or_modify_pyi(object, "Name", ["change"])
component_meta.other()
"""


@pytest.mark.contract
def test_the_function_that_writes_stubs_is_replaced(tmp_path: Path) -> None:
    package = tmp_path / "gradio"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "component_meta.py").write_text(
        "def create_or_modify_pyi(*_): raise ValueError\n\ndef other(): print('other')\n"
    )
    program = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(Path.cwd())!r}]\n{PROGRAM}"
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert result.stdout == "other\n"


def test_the_installed_gradio_has_that_function() -> None:
    found = importlib.util.find_spec("gradio")
    assert found is not None
    assert found.origin is not None
    source = Path(found.origin).with_name("component_meta.py").read_text()
    assert "\ndef create_or_modify_pyi(" in source
