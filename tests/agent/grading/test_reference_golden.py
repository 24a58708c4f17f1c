"""Answers with the verdicts of the paper's published rewards, which ``reference`` repeats.

``reference_golden.jsonl`` was made by running ``compute_score`` of the reference implementation
(https://github.com/llm-in-sandbox/llm-in-sandbox, commit 1c9f7a9, ``benchmark/math``, ``chem`` and
``instruct_follow``) on answers written for this purpose, with math-verify 0.9.0 and the rules of
https://github.com/allenai/IFBench that need no trained model. ``biomed`` has the code of ``chem``.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.grading.checks import Expected
from agent.grading.grade import grade
from agent.grading.rules import check_rule

GOLDEN = [
    json.loads(line)
    for line in Path(__file__).with_name("reference_golden.jsonl").read_text().splitlines()
]


def expected_of(case: dict[str, Any]) -> Expected:
    if case["check"] != "rules":
        return Expected(check=case["check"], answer=case["expected"], extraction="reference")
    truth = json.loads(case["expected"])
    rules = [
        {"rule": name, "arguments": check_rule(name, {k: v for k, v in given.items() if v})}
        for name, given in zip(truth["instruction_id_list"], truth["kwargs"], strict=True)
    ]
    return Expected(check="rules", rules=tuple(rules), extraction="reference")


def test_there_are_two_hundred_verdicts() -> None:
    assert len(GOLDEN) >= 200
    assert {case["score"] for case in GOLDEN} == {0.0, 1.0}


@pytest.mark.contract
@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['check']}-{case['answer']}"[:50])
def test_an_answer_gets_the_references_score(case: dict[str, Any]) -> None:
    found = grade(expected_of(case), case["answer"])
    assert found is not None
    assert found.score == case["score"]
