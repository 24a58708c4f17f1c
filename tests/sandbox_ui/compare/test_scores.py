"""Scores of answers, and the exports of a comparison."""

import csv
import io
from typing import Any

import pytest

from tests.sandbox_ui.conftest import Script
from tests.support.comparisons import PLAIN, SANDBOX, ComparisonClient, answer_by_mode
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import wait_until

pytestmark = pytest.mark.contract


def scores(described: dict[str, Any]) -> list[list[float | None]]:
    return [[run["score"] for run in member["runs"]] for member in described["members"]]


def wait_for_scores(client: ComparisonClient, comparison: str) -> list[list[float | None]]:
    client.wait(comparison)
    wait_until(lambda: None not in [each for m in scores(client.read(comparison)) for each in m])
    return scores(client.read(comparison))


def test_answers_are_compared_with_the_expected_one(client: ComparisonClient) -> None:
    described = client.run_to_end(
        PLAIN, SANDBOX, inputs=client.draft(a=b"abc"), expected={"kind": "number", "answer": "3"}
    )
    assert scores(described) == [[0.0], [1.0]]
    assert described["verdict"]["text"]
    assert described["table"][0]["rows"]


def test_mathematical_answers_are_scored_in_the_background(
    client: ComparisonClient, script: Script
) -> None:
    script.answer = lambda _: Turn(text="$\\frac{1}{2}$")
    comparison = client.create(PLAIN, PLAIN, expected={"kind": "math", "answer": "0.5"})
    assert wait_for_scores(client, comparison) == [[1.0], [1.0]]


def test_a_judge_decides_with_its_own_key(
    client: ComparisonClient, script: Script, endpoint: Endpoint
) -> None:
    def judge_or_answer(body: dict[str, Any]) -> Turn:
        if body["model"] == "judge":
            right = "<answer>\n3\n</answer>" in body["messages"][-1]["content"]
            return Turn(text=f"I compared them.\n{'RIGHT' if right else 'WRONG'}")
        return answer_by_mode(body)

    script.answer = judge_or_answer
    judge = {"model": "judge", "apiKey": "sk-judge", "votes": 2}
    comparison = client.create(
        PLAIN,
        SANDBOX,
        inputs=client.draft(a=b"abc"),
        expected={"kind": "judge", "answer": "three", "judge": judge},
    )
    assert wait_for_scores(client, comparison) == [[0.0], [1.0]]
    asked = [each for each in endpoint.requests if each.body["model"] == "judge"]
    assert len(asked) == 4
    assert {each.headers["authorization"] for each in asked} == {"Bearer sk-judge"}
    described = client.read(comparison)
    assert described["expected"]["judge"]["model"] == "judge"
    assert not described["canResume"]


def test_the_inputs_are_measured(client: ComparisonClient) -> None:
    described = client.run_to_end(PLAIN, SANDBOX, inputs=client.draft(a=b"four words are here"))
    wait_until(lambda: "characters" in client.read(described["id"])["inputs"][0])
    (measured,) = client.read(described["id"])["inputs"]
    assert measured["characters"] == 19
    assert measured["tokens"]


def test_a_comparison_is_exported(client: ComparisonClient) -> None:
    url = f"/api/comparisons/{client.run_to_end(PLAIN, SANDBOX)['id']}/export"
    for kind, media_type, begin in (
        ("csv", "text/csv", b"group,"),
        ("json", "application/json", b"{"),
        ("tex", "application/x-tex", b"% needs"),
        ("md", "text/markdown", b""),
        ("svg", "image/svg+xml", b"<"),
        ("png", "image/png", b"\x89PNG"),
        ("html", "text/html", b"<!doctype html>"),
    ):
        answer = client.http.get(f"{url}.{kind}")
        assert answer.status_code == 200, kind
        assert answer.headers["content-type"].startswith(media_type)
        assert f'filename="comparison.{kind}"' in answer.headers["content-disposition"]
        assert answer.content.startswith(begin)
    rows = list(csv.DictReader(io.StringIO(client.http.get(f"{url}.csv").text)))
    assert {row["label"] for row in rows} == {"Without sandbox", "With sandbox"}
    assert client.http.get(f"{url}.exe").status_code == 400
