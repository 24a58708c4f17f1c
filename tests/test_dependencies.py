"""The audit of the dependencies: the problems that it reports."""

from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import dependencies as audit

SOURCE = audit.ROOT / "tests" / "nowhere.py"


@pytest.mark.parametrize("requirement", ["a", "a>=1", "a==1.*", "a==1,!=2", "a~=1.0"])
def test_an_unpinned_requirement_is_reported(requirement: str) -> None:
    assert list(audit.unpinned([Requirement("b==1.2.post3"), Requirement(requirement)]))


def test_an_undeclared_import_is_reported(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    source.write_text("import os, PIL.Image\nfrom . import near\nfrom agent import x\n")
    modules = audit.imported_modules([source])
    assert modules == {"PIL": source}
    assert not list(audit.undeclared_imports({"PIL": SOURCE}, ["pillow"]))
    (message,) = audit.undeclared_imports({"PIL": SOURCE}, ["docker"])
    assert message == "tests/nowhere.py imports PIL, which no requirement names"


def test_an_unused_requirement_is_reported() -> None:
    assert not list(
        audit.unused_requirements(["PIL", "yaml"], ["pillow", "pyyaml", "pytest-timeout", "ruff"])
    )
    assert len(list(audit.unused_requirements(["PIL"], ["pillow", "docker"]))) == 1


def test_differences_from_the_lock_file_are_reported() -> None:
    installed = dict(audit.installed_distributions())
    del installed["docker"]
    installed["pytest"] = distribution("pillow")
    message = sorted(audit.mismatched(installed))
    assert message[0] == "docker is locked, but not needed"
    assert message[1].startswith(f"pytest {distribution('pillow').version} is installed, not ==")


@pytest.mark.parametrize(
    "licence", ["MIT", "MPL-2.0 AND (Apache-2.0 OR MIT)", "GPL-3.0 OR MIT", "ISC License (ISCL)"]
)
def test_a_permissive_licence_is_accepted(licence: str) -> None:
    assert not list(audit.disallowed_licences("a", licence))


@pytest.mark.parametrize(
    "licence", ["GPL-3.0", "MIT AND AGPL-3.0-only", "nothing", "Proprietary", ""]
)
def test_another_licence_is_reported(licence: str) -> None:
    assert list(audit.disallowed_licences("a", licence))
