"""The reports of a comparison and of an evaluation."""

import base64
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent.experiments import suites
from agent.experiments.description import describe
from agent.experiments.experiment import Member
from agent.experiments.figures.exports import export
from agent.experiments.outcomes import Summaries
from agent.report.groups import comparison_parts, evaluation_parts
from agent.runs.folder import RunFolder
from tests.agent.experiments.test_description import TWELVE, compare, described, write_run
from tests.agent.report.test_report import ATTACKS, HANDLER, Elements
from tests.support.evaluations import stored


def comparison(data: Path, answer: str = "12") -> dict[str, Any]:
    plain = [write_run(data, "plain", answer) for _ in range(2)]
    sandbox = [write_run(data, "sandbox", "12", reason=answer, status="failed") for _ in range(2)]
    return described(compare(data, plain, sandbox, expected=TWELVE))


def evaluation(data: Path, label: str = "sandbox") -> dict[str, Any]:
    members = (stored.MEMBERS[0], Member(label=label, mode="sandbox", model=label))
    folder = stored.create(data, [suites.load("aime")], members=members)
    runs: Summaries = dict(
        stored.add(folder, (task, member, 1), float(member)) for task in (0, 1) for member in (0, 1)
    )
    return describe(folder, runs)


def chart_address(shown: dict[str, Any]) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(export(shown, 'svg')).decode()}"


def test_a_comparisons_report_has_verdict_table_chart_and_runs(tmp_path: Path) -> None:
    shown = comparison(tmp_path)
    text = "".join(comparison_parts(shown, partial(RunFolder.open, tmp_path)))
    page = Elements(text)
    for expected in (
        shown["verdict"]["text"], "How many?", "Without sandbox", "In the sandbox",
        "In the sandbox, repetition 2", "Expected answer", "Tokens by step",
    ):  # fmt: skip
        assert expected in page.text
    assert next(page.all("img"))["src"] == chart_address(shown)
    assert len([*page.all("article")]) == 4
    rows = [row for group in shown["table"] for row in group["rows"]]
    assert all(row["label"] in page.text for row in rows)


def test_a_run_that_was_deleted_is_named(tmp_path: Path) -> None:
    shown = comparison(tmp_path)
    text = "".join(comparison_parts(shown, partial(RunFolder.open, tmp_path / "elsewhere")))
    assert Elements(text).text.count("This run was deleted") == 4


def test_an_evaluations_report_has_results_figure_and_tasks(tmp_path: Path) -> None:
    shown = evaluation(tmp_path / "data")
    page = Elements("".join(evaluation_parts(shown)))
    for expected in (
        "4 of", "Score, %", "All domains", "AIME", "sample of this project", "right 100 %",
        "wrong 0 %", shown["tasks"][0]["title"][:40], shown["interval"],
    ):  # fmt: skip
        assert expected in page.text
    assert len([*page.all("img")]) == 1


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_of_a_member_becomes_markup(tmp_path: Path, attack: str) -> None:
    shown = comparison(tmp_path, attack)
    for member in shown["members"]:
        member |= {"label": attack, "model": attack, "settings": {attack: attack}}
    shown |= {"task": attack, "title": attack}
    label = attack[:60].encode("utf-8", "replace").decode()
    for parts in (
        comparison_parts(shown, partial(RunFolder.open, tmp_path)),
        evaluation_parts(evaluation(tmp_path / "data", label)),
    ):
        page = Elements("".join(parts))
        assert len([*page.all("script")]) == 2
        assert not [*page.all("link"), *page.all("base"), *page.all("iframe")]
        for _, attributes in page.elements:
            assert not [name for name in attributes if HANDLER.fullmatch(name)]
            assert not (attributes.get("href") or "").lower().startswith("javascript:")


def test_addresses_of_endpoints_are_left_out(tmp_path: Path) -> None:
    shown = comparison(tmp_path)
    shown["members"][0]["settings"] = {"baseUrl": "http://internal/v1", "temperature": 0.5}
    text = "".join(comparison_parts(shown, partial(RunFolder.open, tmp_path)))
    assert "internal" not in text
    assert "temperature 0.5" in text
