"""Files shipped beside the packages or below ``share/``, and commands for this installation."""

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import PackagePath

DISTRIBUTION_NAME = "llm-in-sandbox-studio"
_TOP = Path(__file__).resolve().parents[1]
_SHARE = Path("share") / DISTRIBUTION_NAME


def version() -> str:
    """Return this program's version; “(checkout)” where it is not installed."""
    from importlib import metadata  # slow to import, and no run needs it

    try:
        return metadata.version(DISTRIBUTION_NAME)
    except metadata.PackageNotFoundError:
        return "(checkout)"


def commit() -> str:
    """Return the commit that this checkout was made from; empty if it is not known."""
    if not is_checkout():
        return ""
    try:
        folder = _TOP / ".git"
        if folder.is_file():  # a worktree
            folder = _TOP / folder.read_text().removeprefix("gitdir:").strip()
        head = (folder / "HEAD").read_text().strip()
        if not head.startswith("ref:"):
            return head
        shared = folder / "commondir"
        common = folder / shared.read_text().strip() if shared.is_file() else folder
        name = head.removeprefix("ref:").strip()
        if (common / name).is_file():
            return (common / name).read_text().strip()
        packed = (common / "packed-refs").read_text().splitlines()
        return next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")
    except OSError:
        return ""


def is_checkout() -> bool:
    """Return whether the program runs from a checkout, where ``make`` works."""
    return (_TOP / "Makefile").is_file() and (_TOP / "pyproject.toml").is_file()


def find_file(name: str) -> Path | None:
    """Return a file shipped with the program, such as its Dockerfile, or None."""
    return next((each for each in _candidates(name) if each.is_file()), None)


def find_in_checkout(name: str) -> Path | None:
    """Return a file at the top of the checkout; None if it is missing, or without a checkout."""
    path = _TOP / name
    return path if is_checkout() and path.is_file() else None


def pip_install(requirements: str, *options: str) -> str:
    """Return the command that installs a requirements file into this environment."""
    if is_checkout():
        here = Path(sys.prefix).resolve() == (_TOP / ".venv").resolve()
        command = [".venv/bin/pip" if here else "pip", "install", *options, "-r", requirements]
        return shlex.join(command)
    file = find_file(requirements)
    command = [sys.executable, "-m", "pip", "install", *options, "-r", str(file or requirements)]
    return shlex.join(command)


def install_hint(requirements: str, *options: str) -> str:
    """Return a sentence for a user of the page on who installs a requirements file, and how."""
    return f"Its operator can install it: {pip_install(requirements, *options)}"


def build_command() -> str:
    """Return the command that builds the sandbox image."""
    return (
        "make build"
        if is_checkout()
        else shlex.join([sys.executable, "-m", str(__package__), "build"])
    )


def _candidates(name: str) -> Iterator[Path]:
    if is_checkout():
        yield _TOP / name
        return
    yield from (
        Path(str(each.locate())).resolve() for each in _installed_files() if each.name == name
    )
    yield _TOP / _SHARE / name
    yield Path(sys.prefix) / _SHARE / name


def _installed_files() -> "list[PackagePath]":
    """Return the files that the installer recorded; a folder may have moved since."""
    from importlib import metadata  # slow to import, and a checkout needs none of it

    try:
        return metadata.files(DISTRIBUTION_NAME) or []
    except metadata.PackageNotFoundError:
        return []
