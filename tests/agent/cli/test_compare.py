"""The command ``compare``: its table and files, and continuing."""

import csv
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.agent.cli.conftest import Command
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Body, Turn

pytestmark = pytest.mark.contract

MEMBERS = ("--member", "plain,label=Cold,temperature=0", "--member", "plain,label=Warm")


def respond(body: Body) -> Turn:
    return Turn(text="12" if body.get("temperature") == 0 else "13", usage=(100, 5))


@pytest.fixture
def run(command: Command) -> Iterator[Command]:
    with Endpoint(respond) as endpoint:
        yield partial(command, endpoint.url, "compare", "How many?", *MEMBERS)


def test_a_comparison_prints_its_table_and_writes_its_files(run: Command, tmp_path: Path) -> None:
    output = tmp_path / "results"
    ended = run("--repeat", "2", "--expect", "12", "--check", "number",
                "--output", str(output))  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("Cold: right 2 of 2. Warm: right 0 of 2.")
    assert "[4/4]" in ended.stderr
    assert "Cold, run 1: right – answered – 12" in ended.stderr
    rows = list(csv.DictReader((output / "comparison.csv").read_text().splitlines()))
    assert [row["text"] for row in rows if row["key"] == "score"] == ["1.00", "0.00"]
    assert {path.name for path in output.glob("comparison.*")} == {
        f"comparison.{kind}"
        for kind in (
            "csv", "json", "tex", "md", "svg", "png", "pdf", "html", "columns.csv",
            "provenance.json", "runs.csv", "runs.jsonl", "runs.parquet",
        )
    }  # fmt: skip
    assert len(list(output.glob("runs/cold-*/journal.jsonl"))) == 2
    again = run("--output", str(output))
    assert again.returncode == 1
    assert "--resume" in again.stderr
    resumed = run("--repeat", "2", "--expect", "12", "--check", "number",
                  "--output", str(output), "--resume")  # fmt: skip
    assert (resumed.returncode, resumed.stdout) == (0, ended.stdout)
    assert "[4/4]" not in resumed.stderr


def test_a_refused_key_names_the_option_that_gives_one(command: Command) -> None:
    with Endpoint(key="right-key-12345") as endpoint:
        ended = command(endpoint.url, "compare", "How many?", *MEMBERS)
    assert ended.stderr.count("Name a file with the key of this endpoint: key-file=FILE.") == 2


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
    run: Command, arguments: tuple[str, ...], message: str
) -> None:
    ended = run(*arguments)
    assert ended.returncode == 1
    assert message in ended.stderr
