"""Levels: paths are listed, parts cover all, unit tests are held to their level, repeats show."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.levels import markers
from tests.levels import parts as part_plugin
from tests.levels.parts import PARTS, part_of, part_of_file, parts, recorded_parts
from tests.levels.paths import LIST, MOST_PATHS, paths, table

ROOT = Path(__file__).parents[2]

PLUGINS = """
pytest_plugins = [
    "tests.levels.audit", "tests.levels.markers", "tests.levels.parts", "tests.levels.repeats",
    "tests.levels.results",
]
"""


def test_the_paths_are_few_described_and_listed() -> None:
    assert [test for description, test in paths() if not description] == []
    assert len(list(paths())) <= MOST_PATHS
    assert LIST.read_text() == table(), "Run: python -m tests.levels.paths"


def test_five_days_in_a_row_run_all_parts() -> None:
    assert {part_of(day) for day in range(20_000, 20_000 + PARTS)} == set(range(PARTS))


def test_parts_take_about_as_long_and_keep_groups_together() -> None:
    seconds = {f"{number}.py": float(number) for number in range(1, 31)}
    groups = {"30.py": "torch", "1.py": "torch"}
    dealt = parts(seconds, groups)
    assert dealt.keys() == seconds.keys()
    assert dealt["30.py"] == dealt["1.py"]
    totals = [sum(s for f, s in seconds.items() if dealt[f] == part) for part in range(PARTS)]
    assert max(totals) - min(totals) <= 5


def test_a_new_file_moves_no_other() -> None:
    dealt = parts({"a.py": 3, "b.py": 2}, {})
    assert part_of_file("a.py", dealt) == dealt["a.py"]
    assert part_of_file("new.py", dealt) in range(PARTS)
    assert part_of_file("new.py", dealt) == part_of_file("new.py", {})


@pytest.mark.parametrize(
    ("selected", "imported"),
    [
        ("unit", ["test_unit.py"]),
        ("contract", ["test_contract.py"]),
        ("not nightly", ["test_contract.py", "test_unit.py"]),
        ("unit or contract", ["test_contract.py", "test_unit.py"]),
        ("not (nightly or engine)", ["test_contract.py", "test_unit.py"]),
        ("", ["test_contract.py", "test_unit.py"]),
    ],
)
def test_files_of_other_levels_are_not_imported(
    tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch,
    selected: str, imported: list[str],
) -> None:  # fmt: skip
    (tmp_path / "test_unit.py").write_text("def test_it(): pass\n")
    (tmp_path / "test_contract.py").write_text("pytestmark = pytest.mark.contract\n")
    monkeypatch.setattr(pytestconfig.option, "markexpr", selected)
    files = sorted(tmp_path.glob("*.py"))
    assert [
        each.name for each in files if not markers.pytest_ignore_collect(each, pytestconfig)
    ] == imported


NIGHTLY = "tests/agent/cluster/test_local.py"


@pytest.mark.parametrize(
    ("selected", "part", "imported"),
    [
        ("unit", None, False),
        ("(contract or (component and thorough)) and not (main_path or nightly)", None, False),
        ("nightly", None, True),
        ("browser", None, True),
        ("nightly", part_of_file(NIGHTLY, recorded_parts()), True),
        ("nightly", (part_of_file(NIGHTLY, recorded_parts()) + 1) % PARTS, False),
    ],
)
def test_a_nightly_file_is_imported_for_its_part_only(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch,
    selected: str, part: int | None, imported: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(pytestconfig.option, "markexpr", selected)
    monkeypatch.setattr(pytestconfig.option, "part", part)
    ignored = [
        module.pytest_ignore_collect(ROOT / NIGHTLY, pytestconfig)
        for module in (markers, part_plugin)
    ]
    assert any(ignored) is not imported


def run_session(folder: Path, tests: str) -> subprocess.CompletedProcess[str]:
    """Run tests in a session of their own."""
    (folder / "conftest.py").write_text(PLUGINS)
    (folder / "test_them.py").write_text(f"import socket, time, pytest\n{tests}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [f"--rootdir={folder}", f"--confcutdir={folder}"]
    command += [f"--config-file={ROOT / 'pyproject.toml'}", str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.contract
@pytest.mark.parametrize(
    ("use", "means"),
    [
        ("socket.create_server(('127.0.0.1', 0)).close()", "listens on a socket"),
        ("socket.create_connection(('127.0.0.1', 1))", "opens a connection"),
        ("__import__('subprocess').run(['true'])", "starts a program"),
        ("time.sleep(0.001)", "sleeps"),
    ],
)
def test_a_unit_test_may_not(use: str, means: str, tmp_path: Path) -> None:
    body = f"    try:\n        {use}\n    except Exception:\n        pass\n"
    tests = f"def test_unit():\n{body}@pytest.mark.contract\ndef test_contract():\n{body}"
    result = run_session(tmp_path, tests)
    assert "1 failed, 1 passed" in result.stdout, result.stdout
    assert f"A unit test {means}." in result.stdout


@pytest.mark.contract
def test_a_shared_fixture_counts_for_all_its_tests(tmp_path: Path) -> None:
    tests = (
        "@pytest.fixture(scope='module')\ndef server():\n"
        "    with socket.socket() as it:\n        it.bind(('127.0.0.1', 0))\n        yield it\n"
        "@pytest.mark.contract\ndef test_first(server): pass\n"
        "def test_second(server): pass\n"
    )
    result = run_session(tmp_path, tests)
    assert "1 failed, 1 passed" in result.stdout, result.stdout
    assert "by its fixture server" in result.stdout


@pytest.mark.contract
def test_a_test_that_hangs_is_not_repeated(tmp_path: Path) -> None:
    marks = "@pytest.mark.contract\n@pytest.mark.timeout(0.5)\n"
    session = run_session(tmp_path, f"{marks}def test_hanging(): time.sleep(20)\n")
    assert "1 failed" in session.stdout


@pytest.mark.contract
def test_a_test_in_the_browser_without_a_level_is_an_error(tmp_path: Path) -> None:
    result = run_session(tmp_path, "@pytest.mark.browser\ndef test_page(): pass\n")
    assert "test_page: a test in the browser needs a level" in result.stderr


FLAKY = """
seen = []
@pytest.fixture
def fresh():
    yield []
@pytest.mark.{level}
@pytest.mark.parametrize("number", range({count}))
def test_it(number, fresh):
    fresh.append(1)
    assert len(fresh) == 1
    seen.append(number)
    assert seen.count(number) > 1, "the first time"
"""


@pytest.mark.contract
@pytest.mark.parametrize(
    ("level", "count", "line", "status"),
    [
        ("contract", 3, "3 passed, 3 flaky", 0),
        ("contract", 4, "4 passed, 4 flaky", 1),
        ("nightly", 1, "1 failed", 1),
        ("unit", 1, "1 failed", 1),
    ],
)
def test_a_failure_is_repeated_once(
    level: str, count: int, line: str, status: int, tmp_path: Path
) -> None:
    result = run_session(tmp_path, FLAKY.format(level=level, count=count))
    assert line in result.stdout, result.stdout
    assert result.returncode == status
    assert ("FLAKY" in result.stdout) == ("flaky" in line)
    assert "the first time" in result.stdout
