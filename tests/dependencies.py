"""What is installed, against what is declared: ``python -m tests.dependencies``, by ``make check``.

Offline and in a second: every requirement is pinned and used, every import is declared, all that
they pull in is locked in ``constraints.txt`` and installed as locked, and every licence is one that
asks nothing of whoever passes the application on. Known holes in a version are not looked up: that
needs a network, and a list that is younger than this. With ``--lock`` the lock is written anew
from what is installed.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    distribution,
    packages_distributions,
)
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as canonical

ROOT = Path(__file__).parents[1]
RUN, DEV, LOCK = "requirements.txt", "requirements-dev.txt", "constraints.txt"
TRAIN, BUILTIN = "requirements-train.txt", "requirements-builtin.txt"

_NOT_IMPORTED = re.compile(r"mypy|ruff|pytest-\w+|types-[\w-]+")
"""Commands, plugins and types."""
_APART = "llm_in_sandbox"
"""The reference, which is measured in an environment of its own."""
_PERMISSIVE = re.compile(
    r"MIT(-CMU| License)?|(0|[23]-Clause )?BSD( License|-[23]-Clause)?|Zlib|CC0-1\.0|PSF-2\.0|HPND"
    r"|Apache([- ]2\.0| Software License)|ISC( License( ISCL)?)?|DFSG approved"
    r"|MPL-2\.0|Mozilla Public License 2\.0 MPL 2\.0"  # binds changed files of its own only
)
_LICENCES = {"axe-playwright-python": "MIT", "pypdfium2": "BSD-3-Clause AND Apache-2.0"}
"""Of those that do not say it in a form to be read."""


by_module = cache(packages_distributions)


def direct(file: str, root: Path = ROOT) -> dict[str, Requirement]:
    """The requirements that a file lists itself, by their canonical names."""
    lines = (line.split("#")[0].strip() for line in (root / file).read_text().splitlines())
    found = [Requirement(line) for line in lines if line and not line.startswith("-")]
    return {canonical(each.name): each for each in found}


def unpinned(requirements: Iterable[Requirement]) -> Iterator[str]:
    """Those that name more than one version."""
    for each in requirements:
        if not re.fullmatch(r"==[\w.!+]+", str(each.specifier)):
            yield f"{each} is not pinned to one version"


@cache
def closure(files: tuple[str, ...] = (RUN, DEV)) -> dict[str, Distribution]:
    """All that the requirements pull in here, themselves included, as it is installed.

    Raises:
        PackageNotFoundError: some of it is not installed.
    """
    found: dict[tuple[str, frozenset[str]], Distribution] = {}
    waiting = [each for file in files for each in direct(file).values()]
    while waiting:
        wanted = waiting.pop()
        key = (canonical(wanted.name), frozenset(wanted.extras))
        if key not in found:
            found[key] = distribution(wanted.name)
            waiting += _needed(found[key], wanted.extras or {""})
    return {name: each for (name, _), each in sorted(found.items())}


def _needed(of: Distribution, extras: Iterable[str]) -> Iterator[Requirement]:
    for line in of.requires or ():
        each = Requirement(line)
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras):
            yield each


def mismatched(installed: dict[str, Distribution]) -> Iterator[str]:
    """What is not installed as it is locked, and what the others cannot work with."""
    locked = direct(LOCK)
    for name in installed.keys() | locked.keys():
        if name not in locked or name not in installed:
            yield f"{name} is {'not locked' if name in installed else 'locked, but not needed'}"
        elif not locked[name].specifier.contains(installed[name].version, prereleases=True):
            yield f"{name} {installed[name].version} is installed, not {locked[name].specifier}"
    for name, each in installed.items():
        for needed in _needed(each, {""}):
            version = distribution(needed.name).version
            if not needed.specifier.contains(version, prereleases=True):
                yield f"{name} needs {needed}, but {version} is installed"


def imported(sources: Iterable[Path]) -> dict[str, Path]:
    """The foreign modules that sources import, each with one that does."""
    found: dict[str, Path] = {}
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [str(node.module)]
            else:
                continue
            found |= {name.partition(".")[0]: path for name in names}
    ours = {"app", "agent", "sandbox_ui", "tests", _APART} | sys.stdlib_module_names
    return {name: path for name, path in found.items() if name not in ours}


def undeclared(modules: dict[str, Path], declared: Iterable[str]) -> Iterator[str]:
    """Imports of what no requirement brings by its own name."""
    known = set(declared)
    for module, path in modules.items():
        if known.isdisjoint(canonical(each) for each in by_module().get(module, [module])):
            yield f"{path.relative_to(ROOT)} imports {module}, which no requirement names"


def unused(modules: Iterable[str], declared: Iterable[str]) -> Iterator[str]:
    """Requirements that nothing imports."""
    brought = {canonical(each) for module in modules for each in by_module().get(module, [])}
    for name in set(declared) - brought:
        if not _NOT_IMPORTED.fullmatch(name):
            yield f"{name} is required, but nothing imports it"


def licence(of: Distribution) -> str:
    """What a package says of its licence."""
    about = of.metadata
    said = _LICENCES.get(canonical(of.name)) or "".join(about.get_all("License-Expression") or [])
    classified = about.get_all("Classifier") or []
    told = [each.rpartition(" :: ")[2] for each in classified if each.startswith("License ::")]
    free = "".join(about.get_all("License") or [])
    return said or " AND ".join(told) or free or "nothing"


def unlicensed(name: str, said: str) -> Iterator[str]:
    """The licence, where it is none of the permissive ones; of alternatives one is enough."""
    plain = " ".join(re.sub("[()]", " ", said).split())
    parts = [part.split(" OR ") for part in plain.split(" AND ")]
    if not all(any(map(_PERMISSIVE.fullmatch, part)) for part in parts):
        yield f"{name} has the licence “{said}”"


def building() -> set[str]:
    """What building a wheel needs, which pip installs apart for that."""
    system = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    return {canonical(Requirement(each).name) for each in system["requires"]}


def faults() -> Iterator[str]:
    """Everything that is wrong, a line each."""
    run, dev, train = direct(RUN), direct(DEV), direct(TRAIN)
    every = [*run.values(), *dev.values(), *train.values(), *direct(LOCK).values()]
    yield from unpinned([*every, *direct(BUILTIN).values()])
    ours = [ROOT / "app.py", *ROOT.glob("agent/**/*.py"), *ROOT.glob("sandbox_ui/**/*.py")]
    used, tested = imported(ours), imported(ROOT.glob("tests/**/*.py"))
    yield from undeclared(used, run.keys() | train.keys() | building())
    yield from undeclared(tested, run.keys() | dev.keys() | train.keys())
    yield from unused(used, run)
    yield from unused(used.keys() | tested.keys(), dev)
    try:
        installed = closure()
    except PackageNotFoundError as error:
        yield f"{error.name} is required, but not installed"
        return
    yield from mismatched(installed)
    for name, each in installed.items():
        yield from unlicensed(name, licence(each))


def main() -> int:
    """Write the lock, or say what is wrong; the exit code."""
    if sys.argv[1:] == ["--lock"]:
        lines = [f"{name}=={each.version}\n" for name, each in closure().items()]
        (ROOT / LOCK).write_text("".join(lines))
        return 0
    found = sorted(faults())
    print(*found, sep="\n", end="\n" * bool(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
