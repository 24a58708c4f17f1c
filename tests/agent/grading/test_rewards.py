"""Rewards for correct, wrong and ambiguous answers."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.grading import mathematics
from agent.grading.final_answer import MAX_ANSWER_CHARS
from agent.grading.texts import rouge_l
from agent.tasks.scoring import reward
from agent.tasks.task import QaType, TaskRecord
from tests.dependencies import ROOT


def score(qa_type: QaType, truth: str, answer: str | None) -> float:
    return reward(TaskRecord("a", "Which?", truth, qa_type), answer)


@pytest.mark.parametrize(
    "answer",
    ["B", "b", " B\n", "B.", "(B)", "[B]", "**B**", "`B`", "$B$", "\ufeffB\r\n", "Option B",
     "(B): a fracture", "B) It is a fever", "B. vitamin", "Option (B): a fracture",
     "Answer: B", "**Answer:** B", "The answer is B.", "The correct option is (B)", r"\boxed{B}",
     r"So the final answer is \boxed{\text{B}}.", "A is wrong, as C is.\nAnswer: B",
     "Let me see. A? No.\n\nThe answer is B.", "Answer: B\nAnswer: B."],
)  # fmt: skip
def test_a_single_option_letter_is_accepted(answer: str) -> None:
    assert score("single_choice", "B", answer) == 1
    assert score("single_choice", "A", answer) == 0


@pytest.mark.parametrize(
    "answer",
    ["", " \n\t", "A B C D", "ABCD", "A, B", "A or B", "A/B", "A. B. C. D.", "A\nB\nC\nD",
     "the answer is not A", "The answer is A or B.", "not A", "Answer: A\nAnswer: B",
     "A fracture", "A: no, B is right", "A. red B. blue",
     r"\boxed{A} \boxed{B}", r"\boxed{A}" + "\n" + r"\boxed{B}",
     "Which is it? A. red\nB. blue\nC. green\nD. white", "А", "Ａ", "𝐀", "ᗅ", "A\u0301", "1", "-",
     "A" * MAX_ANSWER_CHARS, "A" + " " * 10_000_000, "Answer: " * 1_000_000 + "A",
     "A" + " B" * 9_000],
)  # fmt: skip
def test_ambiguous_answers_score_zero(answer: str) -> None:
    assert score("single_choice", "A", answer) == 0


@pytest.mark.parametrize(
    "answer",
    ["A, C", "AC", "CA", "a, c", "A C", "A and C", "A,C.", "[A, C]", "(A) (C)", "A\u00a0C", "C; A",
     "Answer: A, C", r"\boxed{A, C}", "A, and C", "Because of this.\nThe answers are A and C."],
)  # fmt: skip
def test_correct_letters_in_any_order_score_one(answer: str) -> None:
    assert score("multiple_choice", "AC", answer) == 1


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("A", 2 / 3), ("A, B", 1 / 2), ("A, B, C", 4 / 5), ("A B C D", 2 / 3), ("A A", 2 / 3),
     *((answer, 0) for answer in ("B", "", "not A", "A but not C", "all", "a bad face", "A, C?",
                                  "А, С"))],
)  # fmt: skip
def test_extra_and_missing_letters_reduce_the_score(answer: str, expected: float) -> None:
    assert score("multiple_choice", "AC", answer) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("truth", "answer", "expected"),
    [*(("12.50", answer, 1) for answer in ("12.50", " 12.50 \r\n", "\ufeff12.50")),
     *(("12.50", answer, 0) for answer in ("", "12.5", "12.50 EUR", "It is 12.50", "12.50\n13",
                                           "１2.50")),
     ("Anna\nBert", "Anna \r\nBert\r\n", 1), ("Anna\nBert", "Bert\nAnna", 0)],
)  # fmt: skip
def test_an_exact_answer_equals_the_truth_but_for_space_around_its_lines(
    truth: str, answer: str, expected: float
) -> None:
    assert score("exact", truth, answer) == expected


@pytest.mark.parametrize("qa_type", ["single_choice", "multiple_choice", "open_ended", "exact"])
def test_a_missing_answer_scores_zero(qa_type: QaType) -> None:
    for answer in (None, "", "   \n", "\u00a0", "A" * 10_000_000):
        assert score(qa_type, "A", answer) == 0


@pytest.mark.contract
@pytest.mark.parametrize(
    ("truth", "answer"),
    [("12", "12.0"), ("1234", "1,234"), (r"\frac{1}{2}", "0.5"), (r"\frac12", r"\boxed{1/2}"),
     ("x^2+2x+1", "$(x+1)^2$"), (r"\sqrt{8}", r"2\sqrt{2}"), ("3", "x = 3"), ("12", "**12**"),
     ("12", "First 10, then 2 more.\nAnswer: 12"), ("12", r"Thus \boxed{12}.")],
)  # fmt: skip
def test_mathematically_equal_answers_are_correct(truth: str, answer: str) -> None:
    assert score("open_ended", truth, answer) == 1


@pytest.mark.contract
@pytest.mark.parametrize(
    "answer",
    ["13", "-12", "10 11 12", "10, 11, 12", "12 or 13", r"12 \text{ or } 13", "not 12", "x < 12",
     "The answer is not 12", "12 = 13", r"12 \pm 1", "11 12", r"\infty - \infty", r"\emptyset",
     "1 = 12", "13 = 12", "12}{13", "12 < 13",
     "12\n13", r"\boxed{12} \boxed{13}", "}{", r"\frac{" * 60, "__import__('os')", "\0"],
)  # fmt: skip
def test_ambiguous_mathematics_scores_zero(answer: str) -> None:
    assert score("open_ended", "12", answer) == 0


def test_a_relation_does_not_equal_another_true_relation() -> None:
    assert score("open_ended", "1 < 2", "1 < 2") == 1
    assert score("open_ended", "1 < 2", "3 < 4") < 1
    assert score("open_ended", r"2 \leq 3", r"1 = 1") < 1


@pytest.mark.parametrize(("truth", "answer"), [("A1", "1A"), ("R2D2", "D2R2"), ("7h05", "5h7")])
def test_a_code_of_letters_and_digits_is_not_a_product(truth: str, answer: str) -> None:
    assert score("open_ended", truth, answer) == 0
    assert score("open_ended", truth, truth) == 1


@pytest.mark.contract
def test_endless_computation_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert mathematics.is_equal("2 + 3", "5")
    monkeypatch.setattr(mathematics, "TIMEOUT_SECONDS", 0.3)
    assert not mathematics.is_equal("10^{10^{10}}", "12")
    monkeypatch.undo()
    assert mathematics.is_equal("2 + 3", "5")


@pytest.mark.contract
def test_comparison_works_from_threads() -> None:
    def equal(number: int) -> bool:
        return mathematics.is_equal(f"{number} + 0", str(number % 3))

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(equal, range(8))) == [True, True, True, *[False] * 5]


@pytest.mark.contract
def test_a_forked_process_starts_its_own_worker() -> None:
    program = """if True:
        import os
        from agent.grading.mathematics import is_equal
        assert is_equal("5", "2+3")
        child = os.fork()
        right = is_equal("5", "2+3") and not is_equal("6", "2+3")
        if not child:
            os._exit(not right)
        assert right and os.waitpid(child, 0)[1] == 0
    """
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=60)


_PARTS = [*"ABCD .)", "\n", "Answer: ", "The answer is ", r"\boxed{", "}", "not"]


@pytest.mark.contract
@settings(max_examples=50)
@given(st.lists(st.sampled_from(_PARTS) | st.text(max_size=4), max_size=12).map("".join))
def test_scores_are_between_zero_and_one(answer: str) -> None:
    scores = [score("single_choice", letter, answer) for letter in "ABCD"]
    assert sum(scores) <= 1
    letters: list[QaType] = ["multiple_choice", "exact"]
    assert all(0 <= score(qa_type, "AC", answer) <= 1 for qa_type in letters)
    assert 0 <= score("open_ended", "A text with A", answer) <= 1


@pytest.mark.parametrize("truth", ["2026-03-05", "05.03.2026", "12:30", "Paris in 1900", "Paris"])
def test_a_date_is_not_an_expression(truth: str) -> None:
    assert not mathematics.is_expression(truth)


@pytest.mark.parametrize(
    ("answer", "truth", "expected"),
    [("the cat sat", "the cat sat", 1), ("The CAT sat!", "the cat sat", 1), ("dog", "cat", 0),
     ("the cat", "the cat sat here", 2 / 3), ("sat cat the", "the cat sat", 1 / 3), ("…", "a", 0),
     ("東京は晴れ", "東京は雨", 6 / 9), ("Ångström über", "ångström über", 1)],
)  # fmt: skip
def test_rouge_counts_words_in_the_same_order(answer: str, truth: str, expected: float) -> None:
    assert rouge_l(answer, truth) == pytest.approx(expected)


def test_rouge_matches_a_simple_implementation() -> None:
    words = ["a", "b", "c", "a", "b", "d"]
    for number in range(500):
        first = [words[number * position % 6] for position in range(1, number % 9 + 2)]
        second = [words[(number + position * position) % 6] for position in range(number % 7 + 1)]
        common = longest_common_subsequence(tuple(first), tuple(second))
        expected = 2 * common / (len(first) + len(second))
        assert rouge_l(" ".join(first), " ".join(second)) == pytest.approx(expected)


@cache
def longest_common_subsequence(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    if not first or not second:
        return 0
    if first[-1] == second[-1]:
        return 1 + longest_common_subsequence(first[:-1], second[:-1])
    return max(
        longest_common_subsequence(first[:-1], second),
        longest_common_subsequence(first, second[:-1]),
    )


def test_repeating_the_question_or_documents_scores_low() -> None:
    truth = "The harbour was closed after the storm of March"
    question = "Why was the harbour closed, and after which event?"
    assert score("open_ended", truth, question) < 0.6
    assert score("open_ended", truth, f"{truth}. " + "Or it was opened again. " * 40) < 0.1
    assert score("open_ended", truth, truth.upper() + ".") == 1


def test_the_longest_answers_are_compared_quickly() -> None:
    assert 0 < score("open_ended", "a b " * 16_000, "b a " * 16_000) < 1
