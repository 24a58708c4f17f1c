"""The command ``compare``: its table and files, and continuing."""

import csv
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Body, Turn

pytestmark = pytest.mark.contract

ROOT = Path(__file__).parents[3]
MEMBERS = ("--member", "plain,label=Cold,temperature=0", "--member", "plain,label=Warm")


def respond(body: Body) -> Turn:
    return Turn(text="12" if body.get("temperature") == 0 else "13", usage=(100, 5))


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    with Endpoint(respond) as endpoint:
        yield dict(
            os.environ, STUDIO_DATA=str(tmp_path / "data"), OPENAI_BASE_URL=endpoint.url,
            OPENAI_MODEL="m", OPENAI_API_KEY="k",
        )  # fmt: skip


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "agent", "compare", "How many?", *MEMBERS, *arguments]


def run(environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, env=environment, cwd=ROOT,
        check=False, timeout=60,
    )  # fmt: skip


def test_a_comparison_prints_its_table_and_writes_its_files(
    environment: dict[str, str], tmp_path: Path
) -> None:
    output = tmp_path / "results"
    ended = run(environment, "--repeat", "2", "--expect", "12", "--check", "number",
                "--output", str(output))  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("Cold: right 2 of 2. Warm: right 0 of 2.")
    assert "[4/4]" in ended.stderr
    assert "Cold, run 1: answered – 12" in ended.stderr
    rows = list(csv.DictReader((output / "comparison.csv").read_text().splitlines()))
    assert [row["text"] for row in rows if row["key"] == "score"] == ["1.00", "0.00"]
    assert {path.name for path in output.glob("comparison.*")} == {
        f"comparison.{kind}" for kind in ("csv", "json", "tex", "md", "svg", "png", "html")
    }
    assert len(list(output.glob("runs/cold-*/journal.jsonl"))) == 2
    again = run(environment, "--output", str(output))
    assert again.returncode == 1
    assert "--resume" in again.stderr
    resumed = run(environment, "--repeat", "2", "--expect", "12", "--check", "number",
                  "--output", str(output), "--resume")  # fmt: skip
    assert (resumed.returncode, resumed.stdout) == (0, ended.stdout)
    assert "[4/4]" not in resumed.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--check", "number"), "--expect"),
        (("--expect", "12", "--check", "judge"), "--judge"),
        (("--expect", "12", "--check", "judge", "--judge", "votes=2"), "model is needed"),
        (("--resume",), "--output DIR"),
        (("--member", "plain,key-file=/no/such/file"), "/no/such/file cannot be read"),
    ],
)
def test_a_wrong_option_is_explained(
    environment: dict[str, str], arguments: tuple[str, ...], message: str
) -> None:
    ended = run(environment, *arguments)
    assert ended.returncode == 1
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
