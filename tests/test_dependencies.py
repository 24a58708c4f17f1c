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


def test_a_requirement_that_is_not_locked_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit.requirements_of, "__defaults__", (tmp_path,))
    (tmp_path / "requirements.txt").write_text("same==1\nraised==2\nadded==1\ntorch==1\n")
    (tmp_path / "requirements.lock").write_text(
        "# Made by a tool\nsame==1 \\\n    --hash=sha256:00\n    # via other\n"
        "raised==1 ; python_version >= '3' \\\n    --hash=sha256:00 \\\n    --hash=sha256:01\n"
    )
    assert [line.split(",")[0] for line in audit.stale_locks([audit.RUN])] == [
        "requirements.txt has raised==2",
        "requirements.txt has added==1",
    ]


def test_every_locked_version_has_hashes() -> None:
    for path in audit.ROOT.glob("requirements*.lock"):
        lines = path.read_text().splitlines()
        versions = [line for line in lines if line and line[0] not in " #"]
        assert versions
        assert all(line.endswith(" \\") for line in versions)
        assert not [line for line in lines if "://" in line or line.startswith("-")]


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


def test_every_package_that_users_install_is_in_the_list_of_licences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = audit.licence_rows()
    assert "| gradio | Apache-2.0 |" in rows
    assert not [row for row in rows if "pytest" in row or "\n" in row]
    monkeypatch.setattr(audit, "ROOT", tmp_path)
    monkeypatch.setattr(audit, "LICENCES", tmp_path / "licences.md")
    monkeypatch.setattr(audit, "licence_rows", lambda: rows)
    audit.write_licences()
    assert not list(audit.unlisted_licences())
    text = audit.LICENCES.read_text()
    audit.LICENCES.write_text(text.replace("| gradio | Apache-2.0 |\n", ""))
    assert list(audit.unlisted_licences()) == [
        "licences.md lacks gradio | Apache-2.0. Run: make licences"
    ]
