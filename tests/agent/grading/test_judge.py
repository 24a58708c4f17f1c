"""A judge's votes on an answer, what its failures leave, and letters with their choices."""

from dataclasses import replace
from typing import Any

import pytest

from agent.errors import UsageError
from agent.experiments import suites
from agent.experiments.experiment import Judge, check_judge
from agent.experiments.suite import EvalTask, Suite
from agent.grading.checks import Grade, JudgeAccess
from agent.grading.grade import grade
from agent.grading.judge import NO_JUDGE, PROMPT, fill_prompt, verdict_in
from agent.models.base import ModelConfig
from agent.models.endpoint.deferred import DeferredEndpointModel
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Turn

SUITE = Suite(
    name="s", title="S", domain="d", tasks=(), prompt="general", scorer="judge", licence="",
    source="", judge_prompt="{task}|{expected}|{answer}",
)  # fmt: skip


def scored(task: EvalTask, answer: str, judge: JudgeAccess | None = None) -> Grade:
    found = grade(SUITE.expected(task), answer, judge)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("Answer: C. CC(=O)OCC", "C"),
        ("**Answer: (C) CC(=O)OCC**", "C"),
        ("C. CC(=O)OCC\n\nThe ester of both.", "C"),
        ("C. CC(=O)CC", ""),
        ("Answer: C. CC(=O)OCC or D", ""),
    ],
)
def test_a_letter_may_be_followed_by_its_choice(answer: str, letter: str) -> None:
    (task,) = (each for each in suites.load("chembench").tasks if each.id == "Product_Prediction-1")
    assert scored(task, answer).extracted == letter


JUDGED = EvalTask(id="1", text="How many?", scorer="judge", expected="Twelve.")


@pytest.mark.contract
@pytest.mark.parametrize(
    ("replies", "votes", "score", "reason"),
    [
        (["Yes.\nRIGHT", "No.\n**Wrong.**", "Yes.\nRIGHT", "Yes.\nVerdict: RIGHT"],
         (1.0, 0.0, 1.0, 1.0), 0.75, ""),
        (["Yes.\nRIGHT", "I am not sure.", "Yes.\nRIGHT", "Hm."],
         (1.0, None, 1.0, None), 1.0, "2 of 4 votes failed."),
        (["Hm."] * 4, (None,) * 4, None, "4 of 4 votes failed."),
    ],
    ids=["all", "some fail", "none"],
)  # fmt: skip
def test_a_judge_votes_four_times(
    replies: list[str],
    votes: tuple[float | None, ...],
    score: float | None,
    reason: str,
) -> None:
    with Endpoint([Turn(text=text) for text in replies]) as endpoint:
        model = DeferredEndpointModel(ModelConfig(endpoint.url, "j", "secret"))
        found = scored(JUDGED, "12 {task}", JudgeAccess(model=model, name="j"))
        (sent, *_) = endpoint.requests
    assert sent.body["messages"] == [{"role": "user", "content": "How many?|Twelve.|12 {task}"}]
    assert (found.votes, found.judge, found.texts[1]) == (votes, "j", replies[1])
    assert (found.score, found.grader) == (score, "judge/3")
    assert found.reason.startswith(reason)
    assert bool(found.reason) == bool(reason)


def test_without_a_judge_there_is_no_score() -> None:
    assert scored(JUDGED, "12").score is None
    assert scored(JUDGED, "12").reason == NO_JUDGE
    assert scored(JUDGED, " ").score == 0


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("It is.\nRIGHT", 1.0),
        ("Verdict: wrong.", 0.0),
        ("RIGHT\nbut then it is not", None),
        ("The answer says: write RIGHT", None),
        ("", None),
    ],
)
def test_only_the_judges_last_line_is_a_verdict(text: str, verdict: float | None) -> None:
    assert verdict_in(text) == verdict


def test_a_long_answer_is_shortened_for_the_judge_and_says_so() -> None:
    assert "30,040 characters left out" in fill_prompt(PROMPT, "How many?", "12", "x" * 50_000)


WORDS = ("CORRECT", "INCORRECT")


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("CORRECT", 1.0),
        ("It is incorrect.", 0.0),
        ("INCORRECT? No: correct.", 1.0),
        ("The answer, read correctly, is odd.", None),
        ("RIGHT", None),
    ],
)
def test_with_words_of_its_own_the_last_one_counts(text: str, verdict: float | None) -> None:
    assert verdict_in(text, WORDS) == verdict


@pytest.mark.contract
def test_the_words_belong_to_the_prompt_that_is_asked() -> None:
    suite, asked = replace(SUITE, judge_words=WORDS), "{expected}{answer}"
    with Endpoint([Turn(text="correct"), Turn(text="ja"), Turn(text="correct")]) as endpoint:
        model = DeferredEndpointModel(ModelConfig(endpoint.url, "j"))
        usual = JudgeAccess(model=model, name="j", votes=1)
        own = replace(usual, prompt=asked, words=("ja", "nein"))
        found = [grade(suite.expected(JUDGED), "12", judge) for judge in (usual, own, own)]
    assert [each and each.score for each in found] == [1.0, 1.0, None]
    assert found[2] is not None
    assert "ja nor nein" in found[2].reason


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"prompt": "Is it right? {answer}"}, r"must contain \{expected\}: without it"),
        ({"right": "YES", "wrong": "NO"}, "need a prompt of its own"),
        ({"prompt": "{expected} {answer}", "right": "YES"}, "two different words"),
        ({"prompt": "{expected} {answer}", "right": "YES", "wrong": "yes"}, "two different words"),
        ({"temperature": 3.0}, "temperature must be a number from 0 to 2"),
        ({"max_tokens": 0}, "max_tokens must be a whole number"),
    ],
)
def test_a_judge_that_could_not_judge_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_judge(Judge(model="j", **values))
