"""The reports of a comparison and of an evaluation."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent.experiments import suites
from agent.experiments.description import describe
from agent.experiments.experiment import Member
from agent.experiments.outcomes import Summaries
from agent.report.groups import parts
from agent.runs.folder import RunFolder
from tests.agent.experiments.test_description import TWELVE, compare, described, write_run
from tests.agent.report.test_report import ATTACKS, Elements
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


def page_of(shown: dict[str, Any], data: Path) -> Elements:
    return Elements("".join(parts(shown, partial(RunFolder.open, data))))


def test_a_comparisons_report_has_its_table_and_its_runs(tmp_path: Path) -> None:
    shown = comparison(tmp_path)
    page = page_of(shown, tmp_path)
    record = page.json()
    assert record["kind"] == "comparison"
    assert record["view"]["table"] == json.loads(json.dumps(shown["table"]))
    assert record["view"]["canEdit"] is False
    runs = [run["run"] for member in shown["members"] for run in member["runs"]]
    assert [each for each in page.blocks if each.startswith("record-")] == [
        f"record-{run}" for run in runs
    ]
    assert shown["verdict"]["text"] in page.text
    assert page_of(shown, tmp_path / "elsewhere").blocks.keys() == {"record"}


def test_an_evaluations_report_has_results_and_tasks(tmp_path: Path) -> None:
    shown = evaluation(tmp_path)
    page = page_of(shown, tmp_path)
    assert page.json()["view"]["results"] == json.loads(json.dumps(shown["results"]))
    assert len(page.json()["view"]["cells"]) == len(shown["tasks"])
    assert "AIME" in page.text


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_of_a_member_becomes_markup(tmp_path: Path, attack: str) -> None:
    harmless, shown = comparison(tmp_path), comparison(tmp_path, attack)
    for member in shown["members"]:
        member |= {"label": attack, "model": attack, "settings": {attack: attack}}
    shown |= {"task": attack, "title": attack}
    page = page_of(shown, tmp_path)
    assert page.elements == page_of(harmless, tmp_path).elements
    assert not [name for name, each in page.blocks.items() if "<" in each]


def test_addresses_of_endpoints_are_left_out(tmp_path: Path) -> None:
    shown = comparison(tmp_path)
    shown["members"][0]["settings"] = {"baseUrl": "http://internal/v1", "temperature": 0.5}
    shown["expected"]["judge"] = {"model": "judge", "baseUrl": "http://internal/v2"}
    page = page_of(shown, tmp_path)
    assert "internal" not in page.text + page.blocks["record"]
    assert page.json()["view"]["members"][0]["settings"] == {"temperature": 0.5}
