"""What is found out before an evaluation costs anything."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.experiments.combine.extend import grown, runs_by_suite
from agent.experiments.experiment import Experiment, Judge, Member
from agent.experiments.preflight import checks
from agent.experiments.preflight.checks import Finding, Preflight, preflight
from agent.experiments.preflight.confirmation import Confirmation
from agent.experiments.preflight.estimate import estimate
from agent.grading.checks import JudgeAccess
from agent.models.base import Model, ModelConfig
from agent.models.endpoint.deferred import DeferredEndpointModel
from agent.models.passport.passport import Fact, Passport
from agent.models.passport.store import PassportStore
from agent.settings import Settings
from tests.support.evaluations.stored import create
from tests.support.evaluations.suites import sums
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Turn

PLAIN = Member(label="Plain", mode="plain", model="m")


def found(
    tmp_path: Path,
    *suites: Any,
    models: dict[int, Model] | None = None,
    judge: JudgeAccess | None = None,
    judging: Judge | None = None,
) -> Preflight:
    definition = Experiment(members=(PLAIN,), judge=judging)
    settings = Settings(data=tmp_path)
    return preflight(definition, suites, models or {}, judge, settings, [tmp_path], 2)


def by_name(flight: Preflight) -> dict[str, Finding]:
    return {each.what: each for each in flight.findings}


def test_a_missing_library_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert by_name(found(tmp_path, sums(1)))["Scoring"].level == "ok"
    monkeypatch.setattr(checks, "find_spec", lambda _: None)
    flight = found(tmp_path, sums(1), sums(1, "requests", "rules"))
    assert [each.text for each in flight.problems] == [
        "Sums: math_verify and antlr4 cannot be imported. Install this program's requirements "
        "again.",
        "Requests: syllapy cannot be imported. Install this program's requirements again.",
    ]


@pytest.mark.contract
@pytest.mark.parametrize(
    ("reply", "level", "text"),
    [
        ("Same.\nRIGHT", "ok", "j judged an example for Sums."),
        ("Hm.\nWRONG", "warning", "j called 4 a wrong answer to “What is 2 + 2?”."),
        ("Hm.", "problem", "j: 1 of 1 vote failed. The judge gave no verdict: its last line has "
         "neither RIGHT nor WRONG."),
    ],
)  # fmt: skip
def test_a_judge_judges_an_example(tmp_path: Path, reply: str, level: str, text: str) -> None:
    with Endpoint([Turn(text=reply)]) as endpoint:
        model = DeferredEndpointModel(ModelConfig(endpoint.url, "j"))
        access = JudgeAccess(model=model, name="j", votes=4)
        flight = found(tmp_path, sums(2, scorer="judge"), judge=access)
    assert by_name(flight)["Judge"] == Finding("Judge", level, text)  # type: ignore[arg-type]


@pytest.mark.contract
def test_a_refused_key_is_a_problem_of_its_member(tmp_path: Path) -> None:
    with Endpoint(key="right") as endpoint:
        config = ModelConfig(endpoint.url, "m", "wrong")
        model = DeferredEndpointModel(config, PassportStore(tmp_path))
        flight = found(tmp_path, sums(1), models={0: model})
    assert [each.what for each in flight.problems] == ["Plain"]
    assert "failed" in flight.problems[0].text


def test_a_context_that_the_longest_task_does_not_fit_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passport = Passport(base_url="", model="m", facts={"context": Fact(1_000, "said")})
    monkeypatch.setattr(checks, "passport_of", lambda _: passport)
    monkeypatch.setattr(checks, "ensure_tested", lambda *_: {})
    suite = sums(2)
    long = replace(suite, tasks=(replace(suite.tasks[0], inputs={"a.txt": "x" * 8_000}),))
    model: Any = DeferredEndpointModel(ModelConfig("http://x/v1", "m"))
    flight = found(tmp_path, long, models={0: model})
    warned = [each.text for each in flight.findings if each.level == "warning"]
    assert warned == [
        "The longest task of Sums has about 2,004 tokens in plain mode; the context has 1,000. "
        "Such tasks end at the token limit."
    ]


def test_a_full_disk_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_free", lambda _: 10)
    assert "0.0 GiB are free" in by_name(found(tmp_path, sums(1)))["Disk"].text
    assert found(tmp_path, sums(1)).problems[-1].what == "Disk"


def test_runs_that_there_are_take_nothing_again(tmp_path: Path) -> None:
    judge = Judge(model="j", votes=4)
    folder = create(tmp_path, [sums(3), sums(2, "essays", "judge")], judge=judge)
    folder.add_run(0, 0, 1, "a")
    folder.add_run(3, 1, 1, "b")
    assert runs_by_suite(folder) == {("sums", 0): 1, ("essays", 1): 1}
    members = (*folder.definition.members, PLAIN)
    whole = grown(folder, members, [sums(4)])
    known = estimate(whole.definition, whole.suites, [], 1, done=runs_by_suite(folder))
    assert (known.runs, known.votes) == (3 * (4 + 2) - 2, 4 * (3 * 2 - 1))


def test_an_estimate_says_that_it_is_not_known(tmp_path: Path) -> None:
    create(tmp_path, [sums(1)])
    judge = Judge(model="j", votes=4)
    flight = found(tmp_path, sums(3, repeat=2), sums(2, "more", "judge"), judging=judge)
    estimate = flight.estimate
    assert (estimate.runs, estimate.votes, estimate.seconds, estimate.cost) == (8, 8, None, None)
    assert estimate.basis.startswith("There are no earlier runs")


def test_a_problem_starts_nothing_and_no_terminal_asks_nothing(tmp_path: Path) -> None:
    lines: list[str] = []
    flight = found(tmp_path, sums(1))
    assert Confirmation(lines.append, ask=False)(flight)
    assert lines[-1].startswith("estimate  1 run. There are no earlier runs")
    broken = replace(flight, findings=(Finding("Disk", "problem", "Full."),))
    assert not Confirmation(lines.append, ask=False)(broken)
    assert lines[-3:-1] == [" PROBLEM  Disk: Full.", lines[-2]]
