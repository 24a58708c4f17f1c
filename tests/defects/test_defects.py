"""The list of deliberate defects fits the code, and each is caught by its package's tests."""

from pathlib import Path

import pytest

from tests.defects.defect import ROOT, Defect, copy_checkout, load_defects, try_defect

DEFECTS = load_defects()


def test_each_defect_replaces_one_piece_of_code() -> None:
    texts = {each.file: (ROOT / each.file).read_text() for each in DEFECTS}
    assert [each.name for each in DEFECTS if texts[each.file].count(each.before) != 1] == []
    missing = [path for each in DEFECTS for path in each.tests if not (ROOT / path).exists()]
    assert missing == []


def test_there_are_thirty_and_each_has_a_name_of_its_own() -> None:
    assert len({each.name for each in DEFECTS}) == len(DEFECTS) >= 30


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    copy_checkout(folder)
    return folder


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_the_tests_of_its_package_catch_it(defect: Defect, checkout: Path) -> None:
    outcome = try_defect(defect, checkout)
    assert outcome.problem == ""
