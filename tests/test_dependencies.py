"""The audit of what is installed: what it would find."""

from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import dependencies as audit

HERE = audit.ROOT / "tests" / "nowhere.py"


@pytest.mark.parametrize("loose", ["a", "a>=1", "a==1.*", "a==1,!=2", "a~=1.0"])
def test_a_requirement_of_more_than_one_version_is_told(loose: str) -> None:
    assert list(audit.unpinned([Requirement("b==1.2.post3"), Requirement(loose)]))


def test_an_import_that_no_requirement_names_is_told(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    source.write_text("import os, PIL.Image\nfrom . import near\nfrom agent import x\n")
    modules = audit.imported([source])
    assert modules == {"PIL": source}
    assert not list(audit.undeclared({"PIL": HERE}, ["pillow"]))
    (told,) = audit.undeclared({"PIL": HERE}, ["docker"])
    assert told == "tests/nowhere.py imports PIL, which no requirement names"


def test_a_requirement_that_nothing_imports_is_told() -> None:
    assert not list(audit.unused(["PIL", "yaml"], ["pillow", "pyyaml", "pytest-timeout", "ruff"]))
    assert len(list(audit.unused(["PIL"], ["pillow", "docker"]))) == 1


def test_what_is_not_installed_as_it_is_locked_is_told() -> None:
    installed = dict(audit.closure())
    del installed["docker"]
    installed["pytest"] = distribution("pillow")
    told = sorted(audit.mismatched(installed))
    assert told[0] == "docker is locked, but not needed"
    assert told[1].startswith(f"pytest {distribution('pillow').version} is installed, not ==")


@pytest.mark.parametrize(
    "said", ["MIT", "MPL-2.0 AND (Apache-2.0 OR MIT)", "GPL-3.0 OR MIT", "ISC License (ISCL)"]
)
def test_a_permissive_licence_is_let_pass(said: str) -> None:
    assert not list(audit.unlicensed("a", said))


@pytest.mark.parametrize("said", ["GPL-3.0", "MIT AND AGPL-3.0-only", "nothing", "Proprietary", ""])
def test_any_other_licence_is_told(said: str) -> None:
    assert list(audit.unlicensed("a", said))
