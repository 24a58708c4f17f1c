"""The command ``eval``: its results and files, and what it continues."""

import csv
import json
from pathlib import Path

import pytest

from agent.data_folder import DataFolder
from agent.experiments import suites
from tests.agent.cli.conftest import Command
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Body, Turn

ANSWERS = {task.text: task.expected for task in suites.load("aime").tasks}


def solve(body: Body) -> Turn:
    """Answer the problems of the sample; fail on the second one with the model ``broken``."""
    content = body["messages"][-1]["content"]
    (text,) = (text for text in ANSWERS if text in content)
    if body["model"] == "broken" and text == list(ANSWERS)[1]:
        return Turn(fault="403")
    return Turn(text=f"\\boxed{{{ANSWERS[text]}}}" if body["model"] != "weak" else "I give up.")


@pytest.mark.nightly
def test_an_evaluation_prints_its_results_and_repeats_infrastructure_errors_alone(
    tmp_path: Path, command: Command
) -> None:
    output = tmp_path / "results"
    options = ("aime", "--limit", "3", "--member", "plain,model=weak,label=Weak", "--member",
               "plain,model=broken,label=Broken", "--output", str(output))  # fmt: skip
    with Endpoint(solve) as endpoint:
        ended = command(endpoint.url, "eval", *options)
        assert ended.returncode == 1, ended.stderr
        assert "[6/6]" in ended.stderr
        assert "1 run failed by an infrastructure error; not counted." in ended.stdout
        assert "not the authors’ data: AIME 2025" in ended.stdout
        rows = list(csv.DictReader((output / "evaluation.csv").read_text().splitlines()))
        first, second = (row for row in rows if row["domain"] == "mathematics")
        assert (first["score"], first["n"], first["infrastructure"]) == ("0.0", "3", "0")
        assert (second["score"], second["n"], second["infrastructure"]) == ("1.0", "2", "1")
        assert (second["gain"], second["pairs"]) == ("1.0", "2")
        found = {path.suffix for path in output.glob("evaluation.*")}
        assert found >= {".csv", ".json", ".tex", ".md", ".svg", ".png", ".html"}
        assert "--resume" in command(endpoint.url, "eval", *options).stderr

    def solve_all(body: Body) -> Turn:
        return solve(body | {"model": "m"})

    with Endpoint(solve_all) as endpoint:
        # Its port is another one: the member asks the settings' endpoint.
        again = command(endpoint.url, "eval", *options, "--resume", "--retry-infrastructure")
        assert again.returncode == 0, again.stderr
        assert len(endpoint.requests) == 1
        stored = json.loads((output / "evaluation.json").read_text())
        assert command(endpoint.url, "eval", "--resume", stored["id"]).returncode == 0
        assert len(endpoint.requests) == 1
    assert stored["counts"]["infrastructure"] == 0
    assert stored["results"][0]["members"][1]["n"] == 3


@pytest.mark.nightly
def test_an_evaluation_grows_and_is_merged(tmp_path: Path, data: Path, command: Command) -> None:
    first, second, both = (str(tmp_path / name) for name in ("first", "second", "both"))
    member = ("--member", "plain,model=m,label=First")
    with Endpoint(solve) as endpoint:
        options = ("eval", "aime", "--limit", "2", *member, "--output")
        assert command(endpoint.url, *options, first).returncode == 0
        more = ("--limit", "3", "--repeat", "aime=1", "--member", "plain,model=weak,label=Weak")
        grown = command(endpoint.url, "eval", "--resume", "--extend", *more, "--output", first)
        assert grown.returncode == 0, grown.stderr
        assert len(endpoint.requests) == 2 + 1 + 3
        assert command(endpoint.url, *options, second, "--temperature", "aime=0.5").returncode == 0
        assert endpoint.requests[-1].body["temperature"] == 0.5
        refused = command(endpoint.url, "eval", "merge", first, second, "-o", both)
        assert "not carried out alike: parameters" in refused.stderr
        third = str(tmp_path / "third")
        with DataFolder(data):  # as the open page does
            assert command(endpoint.url, *options, third).returncode == 0
        merged = command(endpoint.url, "eval", "merge", first, third, "-o", both)
        assert merged.returncode == 0, merged.stderr
    stored = json.loads((tmp_path / "both" / "evaluation.json").read_text())
    labels = [each["label"] for each in stored["members"]]
    assert labels == ["First", "Weak", "First (2)"]
    assert [each["n"] for each in stored["results"][0]["members"]] == [3, 3, 2]


@pytest.mark.nightly
def test_missing_scores_have_an_exit_code_of_their_own(tmp_path: Path, command: Command) -> None:
    asked = list[str]()

    def judge(body: Body) -> Turn:
        """Decide about the example and the first answer, and then nothing more."""
        asked.append(body["messages"][-1]["content"])
        return Turn(text="RIGHT" if len(asked) <= 2 else "I cannot decide.")

    output = tmp_path / "results"
    with Endpoint(lambda _: Turn(text="42")) as model, Endpoint(judge) as referee:
        options = ("eval", "ugphysics", "--limit", "2", "--member", "plain", "--concurrency", "1",
                   "--judge", f"model=j,votes=1,base-url={referee.url}", "--yes",
                   "--output", str(output))  # fmt: skip
        ended = command(model.url, *options)
        assert ended.returncode == 4, ended.stderr
        assert "1 run ended without a score; not counted." in ended.stdout
        asked.clear()
        again = command(model.url, "eval", "--resume", "--yes", "--output", str(output))
        assert again.returncode == 0, again.stderr
        assert len(model.requests) == 2  # only the score was missing
    stored = json.loads((output / "evaluation.json").read_text())
    assert stored["counts"]["unscored"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Name one or more suites"),
        (("nonsense",), "Choose one of aime"),
        (("ugphysics", "--member", "plain"), "scored by a judge"),
        (("aime", "--retry-infrastructure"), "needs --resume"),
        (("--resume",), "--output DIR"),
        (("aime", "--extend"), "needs --resume"),
        (("aime", "--repeat", "aime=0"), "aime must be a number, 1 or more"),
        (("aime", "--limit", "x=3"), "limit: “x” is not evaluated"),
        (("aime", "--temperature", "aime=9"), "--temperature: must be a number from 0 to 2"),
        (("merge", "unknown-id"), "does not exist"),
        (("--resume", "unknown-id"), "does not exist"),
        (("aime,,chembench", "--data", "nowhere"), "nowhere does not exist"),
        (("aime", "--data", "nowhere", "--data", "aime=x"), "nowhere: name the suite of each"),
        (("aime", "--data", "chembench=x"), "There is data of “chembench”, which is not"),
        (("aime", "--member", "colour=red"), "The member “colour=red”: “colour=red” is none of"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason(
    command: Command, arguments: tuple[str, ...], message: str
) -> None:
    refused = command("http://127.0.0.1:9/v1", "eval", *arguments)
    assert refused.returncode == 1
    assert message in refused.stderr
