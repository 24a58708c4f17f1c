"""The checks: one table, which the page and the docs repeat."""

import re

from agent.grading.checks import CHECKS, OFFERED, Expected
from agent.grading.grade import grade
from tests.dependencies import ROOT


def test_the_page_offers_the_checks_by_their_titles() -> None:
    source = (ROOT / "static/experiments/members/member.js").read_text()
    table = source.partition("export const CHECKS = {")[2].partition("};")[0]
    assert dict(re.findall(r'(\w+): "([^"]*)"', table)) == {
        name: CHECKS[name].title for name in OFFERED
    }


def test_the_docs_say_when_an_answer_is_right() -> None:
    docs = (ROOT / "docs/evaluation-suites.md").read_text()
    rows = [f"| `{name}` | {info.right} | {info.otherwise} |" for name, info in CHECKS.items()]
    assert "\n".join(rows) in docs


def test_an_empty_or_too_long_answer_gets_nothing_by_any_check() -> None:
    for check in CHECKS:
        for answer in ("", " \n", "<think>12</think>", "1" * 300_000):
            found = grade(Expected(check=check, answer="1"), answer)
            assert found is not None
            assert (found.score, bool(found.reason)) == (0, True)
