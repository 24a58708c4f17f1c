"""Scores of answers: what counts as right, and what a model may not talk a judge into."""

from pathlib import Path

import pytest

from agent.experiments.experiment import ExpectedAnswer, Experiment, Judge, Member
from agent.experiments.folder import ExperimentFolder, RunEntry
from agent.experiments.scoring import judge_access, known_grade, score_run
from agent.grading.checks import Check, Grade, is_right
from agent.grading.grade import grade_at_once
from agent.grading.numbers import numbers_in
from agent.models.base import ModelConfig
from agent.models.endpoint.deferred import DeferredEndpointModel
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Turn

RUN = RunEntry(member=0, repetition=1, run="run")
MEMBERS = tuple(Member(label=mode, mode=mode, model="m") for mode in ("plain", "sandbox"))


def score(kind: Check, truth: str, answer: str, **rest: float) -> float | None:
    expected = ExpectedAnswer(kind=kind, answer=truth, **rest)  # type: ignore[arg-type]
    return grade_at_once(expected.to_grade("How many?"), answer).score


@pytest.mark.parametrize(
    ("kind", "truth", "answer", "expected"),
    [
        ("exact", "Airlines, 12", " **airlines,   12**. ", 1),
        ("exact", "Airlines, 12", "I counted.\nAnswer: Airlines, 12", 1),
        ("exact", "Airlines, 12", "Airlines, 12 or Banking, 9", 0),
        ("exact", "yes", "", 0),
        ("number", "1234.5", "The total is 1,234.50 EUR.", 1),
        ("number", "-3", "x = −3", 1),
        ("number", "12", "In 2023 the number of cases is 12", 1),
        ("number", "12", "12 or 13", 0),
        ("number", "12", "It is between 12 and 13.", 0),
        ("number", "12", "I read version 12a of R2D12.", 0),
        ("number", "12", "about 12.5", 0),
        ("number", "48213", "The order number in letter2.txt of 2026-01-16, 17:42, is 48213.", 1),
        ("contains", "Paris", "The capital of France is\n**paris**.", 1),
        ("contains", "Paris", "It is Parisian.", 0),
        ("number", "6.02e23", "6.02e23", 1),
        ("choice", "AC", "A, C", 1),
        ("choice", "AC", "A", 0),
        ("f1", "the cat sat", "the cat slept", 2 / 3),
        ("rouge_l", "the cat sat", "sat the cat", 2 / 3),
    ],
)
def test_what_counts_as_right(kind: Check, truth: str, answer: str, expected: float) -> None:
    assert score(kind, truth, answer) == pytest.approx(expected)


def test_a_number_is_right_within_its_tolerance() -> None:
    assert score("number", "3.14159", "3.14", tolerance=0.01) == 1
    assert score("number", "3.14159", "3.1", tolerance=0.01) == 0
    assert score("number", "200", "≈ 203", relative=0.02) == 1
    assert score("number", "200", "205", relative=0.02) == 0


def test_numbers_in_a_text() -> None:
    found = numbers_in("1,234,567.8, then 5 and 1e3")
    assert {float(each) for each in found} == {1234567.8, 5, 1e3}
    assert numbers_in("1.2.3 and 10.0.0.1 and a1") == set()


def test_right_is_not_defined_for_gradual_checks() -> None:
    assert is_right("f1", 1.0) is None
    assert is_right("judge", 0.5) is False
    assert is_right("exact", None) is None


def folder(data: Path, expected: ExpectedAnswer) -> ExperimentFolder:
    definition = Experiment(task="How many?", members=MEMBERS, expected=expected)
    return ExperimentFolder.create(data, definition)


@pytest.mark.contract
@pytest.mark.parametrize(
    ("answer", "right"), [("x = 2/4", 1.0), ("0.4", 0.0), ("\\boxed{0.5}", 1.0)]
)
def test_mathematical_equality_is_stored(tmp_path: Path, answer: str, right: float) -> None:
    expected = ExpectedAnswer(kind="math", answer="\\frac{1}{2}")
    comparison = folder(tmp_path, expected)
    assert known_grade(comparison, 0, answer, None) is None  # not yet
    score_run(comparison, RUN, answer)
    stored = comparison.scores()["run"]
    found = known_grade(comparison, 0, answer, stored)
    assert isinstance(found, Grade)
    assert (found.score, found.grader) == (right, "math/lenient/3")
    assert known_grade(comparison, 0, "another answer", stored) is None


JUDGED = ExpectedAnswer(
    kind="judge",
    answer="Twelve.",
    judge=Judge(model="j", prompt="{task} {expected} {answer}", votes=3),
)


@pytest.mark.contract
def test_a_judge_votes_through_its_own_endpoint(tmp_path: Path) -> None:
    comparison = folder(tmp_path, JUDGED)
    replies = ["It fits.\nRIGHT", "No.\n**Wrong.**", "I am not sure."]
    with Endpoint([Turn(text=text) for text in replies]) as endpoint:
        model = DeferredEndpointModel(ModelConfig(endpoint.url, "j", "secret"))
        entry = score_run(comparison, RUN, "12 {task}", judge_access(JUDGED.judge, model))
        (sent, *_) = endpoint.requests
    assert entry is not None
    assert (entry.votes, entry.score, entry.judge) == ((1.0, 0.0, None), 0.5, "j")
    assert sent.body["messages"] == [{"role": "user", "content": "How many? Twelve. 12 {task}"}]
    assert "secret" not in (comparison.path / "scores.jsonl").read_text()
    assert score_run(comparison, RUN, "12 {task}", None) == entry  # once


def test_a_judge_that_is_not_connected_gives_no_score(tmp_path: Path) -> None:
    comparison = folder(tmp_path, JUDGED)
    entry = score_run(comparison, RUN, "12")
    assert entry is not None
    assert entry.score is None
    assert "Connect its model" in entry.reason
