"""Scores of answers against hand-scored cases, and what a judge's failures leave."""

import pytest

from agent.evals import suites
from agent.evals.scorers import score
from agent.evals.scorers.judged import NO_JUDGE
from agent.evals.scorers.score import JudgeAccess, TaskScore
from agent.evals.suite import EvalTask, Suite
from agent.models.base import ModelConfig
from agent.models.endpoint.deferred import DeferredEndpointModel
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Turn

SUITE = Suite(
    name="s", title="S", domain="d", tasks=(), prompt="general", scorer="judge", licence="",
    source="", judge_prompt="{task}|{expected}|{answer}",
)  # fmt: skip


def scored(task: EvalTask, answer: str, judge: JudgeAccess | None = None) -> TaskScore:
    found = score(SUITE, task, answer, judge)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("truth", "answer", "value"),
    [
        ("395", "\\boxed{395}", 1),
        ("395", "395", 1),
        ("395", " $395$.\n", 1),
        ("395", "395.0", 1),
        ("1234", "1,234", 1),
        ("70", "First \\boxed{71}, but that is wrong.\n\nSo it is\n$$\n\\boxed{70}\n$$", 1),
        ("70", "\\boxed{70} or rather \\boxed{71}", 0),
        ("395", "The answer is 395.", 1),
        ("395", "I think 17 * 23 is 391, so it may be 395.", 0),
        ("395", "394", 0),
        ("395", "<think>\\boxed{395}</think>I do not know.", 0),
        ("395", "<think>\\boxed{394}</think>\\boxed{395}", 1),
        ("395", "\\boxed{}", 0),
        ("395", "  \n", 0),
        ("395", "\\boxed{395", 1),
        ("395", "9" * 300_000, 0),
    ],
)
def test_mathematics_counts_the_last_box(truth: str, answer: str, value: float) -> None:
    task = EvalTask(id="1", text="?", scorer="math", expected=truth)
    assert scored(task, answer).value == value


@pytest.mark.contract
@pytest.mark.parametrize(
    ("truth", "answer", "value"),
    [
        ("\\frac{1}{2}", "So x is\n\\boxed{\\dfrac{2}{4}}", 1),
        ("395", "\\boxed{\\frac{790}{2}}", 1),
        ("395", "\\boxed{390+4}", 0),
    ],
)
def test_expressions_are_compared_by_math_verify(truth: str, answer: str, value: float) -> None:
    """``agent/tasks/test_rewards.py`` has more of them."""
    pytest.importorskip("math_verify")
    task = EvalTask(id="1", text="?", scorer="math", expected=truth)
    assert scored(task, answer).value == value


@pytest.mark.parametrize(
    ("offered", "answer", "letter"),
    [
        ("ABCD", "B", "B"),
        ("ABCD", "B. two", "B"),
        ("ABCD", "A. Na\n\nThe chemical symbol of sodium is Na.", "A"),
        ("ABCD", "I compare all of them.\nA is too small.\n\nAnswer: C", "C"),
        ("ABCD", "Answer: A\nNo, wait.\n**Answer: D**", "D"),
        ("ABCD", "It is \\boxed{\\text{B}}.", "B"),
        ("ABCD", '{"reason": "a long one", "answer": "C"}', "C"),
        ("ABCDEFGHIJ", "The correct answer is (J).", "J"),
        ("ABCD", "Answer: J", ""),
        ("ABCD", "A. Na\nB. S", ""),
        ("ABCD", "I do not know.", ""),
    ],
)
def test_a_letter_is_named_or_not(offered: str, answer: str, letter: str) -> None:
    """``agent/tasks/test_rewards.py`` has more forms of one line."""
    task = EvalTask(id="1", text="?", scorer="letter", expected=letter or "A", choices=offered)
    found = scored(task, answer)
    assert (found.extracted, found.value) == (letter, float(bool(letter)))


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
    ("replies", "votes", "value", "agreement", "reason"),
    [
        (["Yes.\nRIGHT", "No.\n**Wrong.**", "Yes.\nRIGHT", "Yes.\nVerdict: RIGHT"],
         (1.0, 0.0, 1.0, 1.0), 0.75, 0.75, ""),
        (["Yes.\nRIGHT", "I am not sure.", "Yes.\nRIGHT", "Hm."],
         (1.0, None, 1.0, None), 1.0, 1.0, "2 of 4 votes failed."),
        (["Hm."] * 4, (None,) * 4, None, None, "4 of 4 votes failed."),
    ],
    ids=["all", "some fail", "none"],
)  # fmt: skip
def test_a_judge_votes_four_times(
    replies: list[str],
    votes: tuple[float | None, ...],
    value: float | None,
    agreement: float | None,
    reason: str,
) -> None:
    with Endpoint([Turn(text=text) for text in replies]) as endpoint:
        model = DeferredEndpointModel(ModelConfig(endpoint.url, "j", "secret"))
        found = scored(JUDGED, "12 {task}", JudgeAccess(model=model, name="j"))
        (sent, *_) = endpoint.requests
    assert sent.body["messages"] == [{"role": "user", "content": "How many?|Twelve.|12 {task}"}]
    assert (found.votes, found.judge, found.texts[1]) == (votes, "j", replies[1])
    assert (found.value, found.agreement) == (value, agreement)
    assert found.reason.startswith(reason)
    assert bool(found.reason) == bool(reason)


def test_without_a_judge_there_is_no_score() -> None:
    assert scored(JUDGED, "12").value is None
    assert scored(JUDGED, "12").reason == NO_JUDGE
    assert scored(JUDGED, " ").value == 0
