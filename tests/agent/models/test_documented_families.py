"""``docs/models.md``: each row names a test that exists, and each family has a row."""

import re
from pathlib import Path

from tests.support.servers.families import FAMILIES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "models.md").read_text()


def rows() -> list[list[str]]:
    """Return the cells of the table of providers and servers, without its head."""
    section = PAGE.partition("## Providers and servers")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def named_families(row: list[str]) -> list[str]:
    return re.findall(r"`\[(.+?)\]`", row[-1])


def test_each_row_names_families_or_a_test_file_that_exists() -> None:
    files = {row[0]: re.findall(r"`(tests/.+?\.py)`", row[-1]) for row in rows()}
    assert [row[0] for row in rows() if not (named_families(row) or files[row[0]])] == []
    named = [name for names in files.values() for name in names]
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_each_family_has_a_row_with_its_address_and_model() -> None:
    assert sorted(name for row in rows() for name in named_families(row)) == sorted(FAMILIES)
    for row in rows():
        for family in (FAMILIES[name] for name in named_families(row)):
            if family.host:
                assert f"https://{family.host}{family.path}" in row[2]
                assert family.model in row[2]
