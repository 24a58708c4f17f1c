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


def test_each_row_names_its_test() -> None:
    without = [row[0] for row in rows() if not re.search(r"`(\[.+\]|tests/.+\.py)`", row[-1])]
    assert without == []


def test_each_family_has_a_row_and_each_named_family_exists() -> None:
    named = [name for row in rows() for name in re.findall(r"`\[(.+?)\]`", row[-1])]
    assert sorted(named) == sorted(FAMILIES)


def test_the_named_test_files_exist() -> None:
    files = {name for row in rows() for name in re.findall(r"`(tests/.+?)`", row[-1])}
    assert files
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_the_documented_addresses_are_those_that_are_tested() -> None:
    for row in rows():
        for name in re.findall(r"`\[(.+?)\]`", row[-1]):
            if host := FAMILIES[name].host:
                assert f"https://{host}{FAMILIES[name].path}" in row[2]
                assert FAMILIES[name].model in row[2]
