"""Comparisons from Python: real runs of scripted endpoints, with and without a sandbox."""

from pathlib import Path
from typing import Any

import pytest

from agent import Settings, Studio, UsageError
from agent.errors import StudioError
from agent.experiments.experiment import ExpectedAnswer, Judge
from agent.experiments.folder import ExperimentFolder
from agent.experiments.members import complete, parse_in_modes, parse_member
from agent.experiments.runner import Progress
from agent.models.base import ModelConfig
from agent.runs.folder import RunFolder
from agent.train.rollouts.sandboxes import ProcessSandboxProvider
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Body, Turn

TASK = "What is the sum of the column?"
COMMAND = "awk '{s+=$1} END {print s}' input/column.txt > output/answer.txt"


def respond(body: Body) -> Turn:
    """Guess without tools; with tools, compute the sum and submit."""
    if not body.get("tools"):
        return Turn(text="About 50.", usage=(900, 30))
    if any(each["role"] == "tool" for each in body["messages"]):
        return Turn(calls=[("submit", {})], usage=(1_300, 10))
    return Turn(calls=[("execute_bash", {"command": COMMAND})], usage=(1_200, 20))


@pytest.fixture
def column(tmp_path: Path) -> Path:
    path = tmp_path / "column.txt"
    path.write_text("\n".join(map(str, range(10))))
    return path


def members(endpoint: Endpoint, *texts: str) -> list[str]:
    return [f"{text},model=m,base-url={endpoint.url}" for text in texts]


@pytest.mark.contract
def test_a_task_with_and_without_a_sandbox(
    studio: Studio, settings: Settings, column: Path
) -> None:
    progress = list[Progress]()
    with Endpoint(respond) as endpoint:
        result = studio.compare(
            TASK,
            members=members(endpoint, "plain", "sandbox"),
            inputs=column,
            repeat=3,
            expected=ExpectedAnswer(kind="number", answer="45"),
            on_progress=progress.append,
        )
    assert result.state == "finished"
    assert result.verdict == "With a computer: right 3 of 3. Without: right 0 of 3."
    assert [label for label, *_ in result.runs] == ["Without sandbox"] * 3 + ["With sandbox"] * 3
    assert (result.figure("score", 0), result.figure("score", 1)) == (0.0, 1.0)
    assert (result.figure("commands", 0), result.figure("commands", 1)) == (None, 1.0)
    assert result.figure("tokens_once", 1) == 1_200 + 20 + (1_300 - 1_220) + 10
    assert "1.00 [0.44 to 1.00] (n = 3) (+1.00)" in str(result)
    assert result.export("tex").startswith(b"% needs")
    assert progress[0].status == "defined"
    assert (progress[-1].done, progress[-1].total) == (6, 6)
    (document,) = result.description["inputs"]
    assert (document["path"], document["characters"]) == ("column.txt", 19)

    # Each run is an ordinary run that names its comparison.
    for _, _, run in result.runs:
        folder = RunFolder.open(settings.data, run)
        assert folder.comparison == result.id
        assert (folder.workspace / "input" / "column.txt").read_text() == column.read_text()
    (stored,) = ExperimentFolder.all(settings.data, "comparison")
    assert stored.definition.inputs[0].size == 19
    assert result.description["varying"] == ["mode"]


@pytest.mark.contract
def test_a_member_that_fails_leaves_the_others(studio: Studio) -> None:
    with Endpoint(respond) as endpoint, Endpoint(respond, key="another") as locked:
        texts = [*members(endpoint, "plain"), f"plain,label=locked,model=m,base-url={locked.url}"]
        result = studio.compare(TASK, members=texts)
    (answered,), (failed,) = (each["runs"] for each in result.description["members"])
    assert (answered["status"], failed["status"]) == ("answered", "failed")
    assert "401" in failed["reason"] or "key" in failed["reason"]


@pytest.mark.contract
def test_a_member_without_a_model_is_reported_and_the_others_run(studio: Studio) -> None:
    with Endpoint(respond) as endpoint:
        result = studio.compare(TASK, members=[*members(endpoint, "plain"), "plain,model=other"])
    assert list(result.problems) == ["other"]
    assert "OPENAI_BASE_URL" in result.problems["other"]
    assert [len(each["runs"]) for each in result.description["members"]] == [1, 0]
    assert result.state == "interrupted"
    with pytest.raises(StudioError, match="OPENAI_BASE_URL"):
        studio.compare(TASK, members=["plain,model=one", "plain,model=other"])


@pytest.mark.contract
def test_keys_are_sent_and_never_stored(studio: Studio, settings: Settings) -> None:
    with Endpoint(respond, key="sk-secret") as endpoint:
        config = ModelConfig(endpoint.url, "m", "sk-secret")
        result = studio.compare(
            TASK,
            members=members(endpoint, "plain,label=one,temperature=0.5", "plain,label=two"),
            models={"one": config, "two": config},
        )
        sent = {each.body.get("temperature") for each in endpoint.requests}
    assert [each["state"] for each in result.description["members"]] == ["answered"] * 2
    assert sent == {0.5, None}
    stored = [path.read_bytes() for path in settings.data.rglob("*") if path.is_file()]
    assert not any(b"sk-secret" in each for each in stored)


@pytest.mark.contract
def test_a_comparison_continues_only_with_its_task(studio: Studio) -> None:
    with Endpoint(respond) as endpoint:
        texts = members(endpoint, "plain,label=one", "plain,label=two,temperature=0")
        first = studio.compare(TASK, members=texts)
        with pytest.raises(UsageError, match="another task"):
            studio.compare("Another?", members=texts, resume=first.id)


@pytest.mark.contract
def test_a_judge_decides(studio: Studio) -> None:
    def judge(body: Body) -> Turn:
        right = "<answer>\nAbout 50.\n</answer>" in body["messages"][0]["content"]
        return Turn(text="It fits.\nRIGHT" if right else "WRONG")

    with Endpoint(respond) as endpoint, Endpoint(judge) as judging:
        result = studio.compare(
            TASK,
            members=members(endpoint, "plain,label=one", "plain,label=two,temperature=0"),
            expected=ExpectedAnswer(
                kind="judge", answer="Fifty or so.",
                judge=Judge(model="j", base_url=judging.url, votes=2),
            ),
        )  # fmt: skip
        assert len(judging.requests) == 4
    assert result.verdict == "one: right. two: right."
    assert result.description["members"][0]["runs"][0]["judge"]["votes"] == (1.0, 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"members": ["plain"]}, "2 to 12 members"),
        ({"members": ["plain", "sandbox,colour=red"]},
         "^The member “sandbox,colour=red”: “colour=red” is none of plain,"),
        ({"members": ["plain,label=A", "sandbox,label=A"]}, "2 members have the label “A”"),
        ({"repeat": 65}, "1 to 64 repetitions"),
        ({"concurrency": 0}, "concurrency"),
        ({"expected": " "}, "expected answer"),
        ({"resume": "no-such-comparison"}, "no such comparison"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named(studio: Studio, change: dict[str, Any], message: str) -> None:
    with pytest.raises(StudioError, match=message):
        studio.compare(TASK, **change)


def test_labels_say_what_differs() -> None:

    def labels(*texts: str) -> list[str]:
        return [each.label for each in complete((parse_member(text)[0] for text in texts), "m")]

    assert labels("plain", "sandbox") == ["Without sandbox", "With sandbox"]
    assert labels("sandbox,model=a", "sandbox,model=b") == ["a", "b"]
    assert labels("sandbox,max-steps=5", "sandbox,max-steps=50") == ["max steps 5", "max steps 50"]
    assert labels("plain", "sandbox,max-steps=5") == ["Without sandbox", "With sandbox"]
    found = labels("plain,model=a", "sandbox,model=a", "sandbox,model=b")
    assert found == ["a, Without sandbox", "a, With sandbox", "b, With sandbox"]
    assert labels("plain", "plain") == ["Without sandbox 1", "Without sandbox 2"]
    both = parse_in_modes("model=a,label=A")
    assert [each.label for each, _ in both] == ["A, Without sandbox", "A, With sandbox"]
    assert complete([parse_member("plain")[0]], "")[0].model == "builtin"


def test_the_studio_must_be_open(settings: Settings) -> None:
    with pytest.raises(UsageError, match="with block"):
        Studio(settings, ProcessSandboxProvider).compare(TASK)
