"""The build backend: setuptools, on a copy with everything below ``llm_in_sandbox_studio``."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from setuptools import build_meta

PACKAGE = "llm_in_sandbox_studio"
_ROOT = Path(__file__).resolve().parents[2]
_PARTS = ("sandbox_ui", "static", "app.py")
_FILES = (
    "Dockerfile",
    "LICENSE",
    "README.md",
    "pyproject.toml",
    "requirements.lock",
    "requirements.txt",
    "requirements-builtin.lock",
    "requirements-inspect.txt",
    "requirements-ray.txt",
    "requirements-train.lock",
    "requirements-train.txt",
)
_BUNDLED = _ROOT / "static" / "vendor" / "licences.txt"
_BUNDLE_FILES = (".npmrc", "package.json", "package-lock.json", "requirements-node.txt")
_NAMES = {"agent": PACKAGE} | {
    name: f"{PACKAGE}.{name}" for name in ("sandbox_ui", "static", "app")
}
_IMPORT = re.compile(rf"\b(from|import)\s+({'|'.join(_NAMES)})\b")
_UNWANTED = shutil.ignore_patterns("__pycache__", "*.pyc")
_CHECKOUT = "import sys\n\nsys.path.append({root!r})\n"

Settings = Mapping[str, Any] | None


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Return what a build needs besides the backend: Node.js if the libraries are not bundled."""
    del config_settings
    if _BUNDLED.is_file():
        return []
    lines = (_ROOT / "requirements-node.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


get_requires_for_build_sdist = get_requires_for_build_wheel


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """Return what an editable build needs besides the backend: nothing."""
    del config_settings
    return []


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel and return its file name (PEP 517)."""
    del metadata_directory
    _bundle_libraries()
    with _staged() as package:
        shutil.copytree(
            _ROOT / "agent", package, ignore=shutil.ignore_patterns("packaging", "__pycache__")
        )
        for part in _PARTS:
            _copy(_ROOT / part, package / part)
        for source in package.rglob("*.py"):
            text = source.read_text(encoding="utf-8")
            source.write_text(renamed(text), encoding="utf-8")
        return _built(package.parent, wheel_directory, config_settings)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel whose package leads to this checkout, and return its name (PEP 660)."""
    del metadata_directory
    with _staged() as package:
        _copy(_ROOT / "agent" / "packaging" / PACKAGE, package)
        begin = package / "__init__.py"
        begin.write_text(_CHECKOUT.format(root=str(_ROOT)) + begin.read_text(encoding="utf-8"))
        _copy(_ROOT / "app.py", package / "app.py")
        return _built(package.parent, wheel_directory, config_settings)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Build the source distribution and return its file name (PEP 517)."""
    del config_settings
    _bundle_libraries()
    with _staged() as package:
        package.mkdir()
        with _inside(package.parent):
            metadata = Path(build_meta.prepare_metadata_for_build_wheel(".")) / "METADATA"
            name = metadata.parent.stem
            shutil.copy(metadata, "PKG-INFO")
        with tarfile.open(Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
            archive.add(package.parent / "PKG-INFO", f"{name}/PKG-INFO")
            for each in ("agent", *_PARTS, *_FILES, *_BUNDLE_FILES):
                archive.add(_ROOT / each, f"{name}/{each}", filter=_wanted)
    return f"{name}.tar.gz"


def renamed(text: str) -> str:
    """Return Python source with the imports of this project's packages renamed."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            at = node.lineno - 1
            lines[at] = _IMPORT.sub(lambda found: f"{found[1]} {_NAMES[found[2]]}", lines[at])
    return "".join(lines)


def _bundle_libraries() -> None:
    """Bundle the page's libraries unless they are; without npm's registry, build without them."""
    if _BUNDLED.is_file():
        return
    try:
        subprocess.run(["npm", "ci", "--omit=dev"], cwd=_ROOT, check=True)
        for name in ("bundle_libraries", "bundle_page"):
            subprocess.run(["node", f"agent/packaging/{name}.js"], cwd=_ROOT, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"The page's libraries are not in this build: {error}", file=sys.stderr)


@contextmanager
def _staged() -> Iterator[Path]:
    """Yield the path of the package in a temporary project that has the other files already."""
    with tempfile.TemporaryDirectory() as folder:
        for name in _FILES:
            shutil.copy(_ROOT / name, folder)
        yield Path(folder) / PACKAGE


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=_UNWANTED)
    else:
        shutil.copy(source, target)


def _built(project: Path, wheel_directory: str, config_settings: Settings) -> str:
    target = str(Path(wheel_directory).resolve())
    with _inside(project):
        settings: Any = config_settings
        return str(build_meta.build_wheel(target, settings))


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _wanted(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "__pycache__" in info.name else info
