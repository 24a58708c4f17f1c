"""Answers in the forms that models use, graded by hand and by both extractions.

Each line of ``golden.jsonl`` has a check, the right answer, an answer, and whether it is ``right``;
``reference`` is whether the paper's published reward calls it right. Where that reward or
math-verify calls an answer right that is not, ``why`` says why it is not.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.grading.checks import EXTRACTED, Expected, Extraction
from agent.grading.grade import grade

GOLDEN = [
    json.loads(line) for line in Path(__file__).with_name("golden.jsonl").read_text().splitlines()
]


def is_right(case: dict[str, Any], extraction: Extraction = "lenient") -> bool:
    expected = Expected(
        check=case["check"], answer=case["expected"], choices=case.get("choices", ""),
        extraction=extraction,
    )  # fmt: skip
    found = grade(expected, case["answer"])
    assert found is not None
    assert found.grader == f"{case['check']}/{extraction}/3"
    return found.score == 1


@pytest.mark.contract
@pytest.mark.parametrize(
    "case", GOLDEN, ids=lambda case: f"{case['check']}-{case['expected']}-{case['answer']}"[:60]
)
def test_an_answer_is_graded_as_by_hand_and_as_by_the_reference(case: dict[str, Any]) -> None:
    assert is_right(case) == case["right"]
    if case["check"] in EXTRACTED:
        assert is_right(case, "reference") == case["reference"]
        assert case["right"] or not case["reference"] or case["why"]


@pytest.mark.contract
@pytest.mark.parametrize("case", [each for each in GOLDEN if each["check"] == "math"],
                         ids=lambda case: f"{case['expected']}-{case['answer']}"[:60])  # fmt: skip
def test_no_answer_is_wrong_that_math_verify_calls_right(case: dict[str, Any]) -> None:
    from math_verify import parse, verify

    truth = parse(f"${case['expected']}$", parsing_timeout=None)
    found = parse(case["answer"], parsing_timeout=None)
    called_right = verify(truth, found, timeout_seconds=None)
    assert case["right"] or not called_right or case["why"]
