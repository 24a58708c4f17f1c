"""The results of an evaluation, reduced from its folder and its runs' summaries."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from agent.errors import RunError, UsageError
from agent.experiments.description import describe
from agent.experiments.experiment import Experiment, Judge, Member, check
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import infrastructure, missing, unscored
from agent.experiments.publish.exports import export, kinds, table_as_text
from agent.experiments.publish.publication import published
from agent.grading.checks import Grade
from agent.loop.failures import EMPTY_ANSWER
from agent.runs.event_recorder import INTERRUPTED
from agent.runs.summary import Summary
from tests.support.evaluations.stored import MEMBERS, add, create, summary
from tests.support.evaluations.suites import of_domain, sums


def fill(folder: ExperimentFolder, plain: str, sandbox: str) -> dict[str, Summary | None]:
    """Record a run per task and member: 1 right, 0 wrong, p partial, u unscored, e error."""
    found: dict[str, Summary | None] = {}
    for member, outcomes in enumerate((plain, sandbox)):
        for task, outcome in enumerate(outcomes):
            value = {"1": 1.0, "0": 0.0, "p": 0.5}.get(outcome)
            failed = {"state": "failed", "reason": "The engine is gone."} if outcome == "e" else {}
            run, made = add(folder, (task, member, 1), value, scored=not failed, **failed)
            found[run] = made
    return found


def test_scores_gains_and_what_the_runs_cost(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(6)])
    plain, sandbox = of_domain(describe(folder, fill(folder, "110000", "111110")))
    assert (plain["score"], sandbox["score"]) == (2 / 6, 5 / 6)
    assert (sandbox["gain"], sandbox["pairs"], sandbox["baseline"]) == (0.5, 6, 0)
    assert sandbox["gainLow"] < 0.5 < sandbox["gainHigh"]
    assert sandbox["gainP"] == 0.25
    assert (plain["environmentTokens"], sandbox["environmentTokens"]) == (None, 30 / 180)
    assert (plain["environmentTime"], sandbox["environmentTime"]) == (None, 0.2)
    assert sandbox["throughput"] == 0.8
    assert sandbox["capabilities"]["paper"] == {"external": 0.0, "files": 0.5, "computation": 0.25}


def test_errors_and_missing_scores_are_counted_apart_and_are_in_no_mean(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(4)])
    summaries = fill(folder, "1u0e", "11e0")
    described = describe(folder, summaries)
    plain, sandbox = of_domain(described)
    assert (plain["n"], plain["score"]) == (2, 0.5)
    assert (plain["unscored"], plain["infrastructure"]) == (1, 1)
    assert (sandbox["n"], sandbox["score"], sandbox["pairs"]) == (3, 2 / 3, 1)
    assert infrastructure(folder, summaries) == [(2, 1, 1), (3, 0, 1)]
    assert [entry.key for entry, _ in unscored(folder, summaries)] == [(1, 0, 1)]
    assert missing(folder, summaries) == []
    assert described["state"] == "finished"
    assert described["cells"][3][0]["runs"][0]["reason"] == "The engine is gone."


def test_a_failure_of_the_model_is_its_answer(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(1)], members=MEMBERS[:1])
    run, _ = add(folder, (0, 0, 1), 0.0)
    failed = summary(state="failed", reason=EMPTY_ANSWER)
    assert of_domain(describe(folder, {run: failed}))[0]["score"] == 0.0


def test_runs_that_were_stopped_or_interrupted_are_still_to_do(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(4)], members=MEMBERS[:1])
    runs = [add(folder, (task, 0, 1), 1.0)[0] for task in range(3)]
    summaries = {
        runs[0]: summary(state="stopped"),
        runs[1]: summary(state="failed", reason=INTERRUPTED),
        runs[2]: None,
    }
    assert missing(folder, summaries) == [(0, 0, 1), (1, 0, 1), (2, 0, 1), (3, 0, 1)]
    described = describe(folder, summaries)
    assert (described["counts"]["stopped"], described["counts"]["waiting"]) == (2, 2)
    assert described["state"] == "interrupted"
    assert describe(folder, summaries, running=True)["counts"]["waiting"] == 2


def test_an_answer_that_waits_for_its_score_is_not_done_yet(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(1)], members=MEMBERS[:1])
    summaries = dict([add(folder, (0, 0, 1), None, scored=False)])
    assert describe(folder, summaries, running=True)["counts"]["running"] == 1
    assert describe(folder, summaries)["counts"]["unscored"] == 1


def test_a_run_that_was_deleted_keeps_its_score(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(1)], members=MEMBERS[:1])
    add(folder, (0, 0, 1), 1.0)
    (row,) = of_domain(describe(folder, {}))
    assert (row["score"], row["tokensOnce"]) == (1.0, None)
    assert missing(folder, {}) == []


def test_the_time_of_a_run_that_was_deleted_is_not_known(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(2)], members=MEMBERS[:1])
    known = dict([add(folder, (0, 0, 1), 1.0)])
    add(folder, (1, 0, 1), 1.0)
    groups = describe(folder, known)["results"][0]["table"]
    (total,) = [row for group in groups for row in group["rows"] if row["key"] == "total_seconds"]
    (cell,) = total["cells"]
    assert (cell["value"], cell["n"], cell["note"]) == (20.0, 1, "known for 1 of 2 runs")


def test_repetitions_of_a_task_are_one_value(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(3)], repetitions=2, members=MEMBERS[:1])
    summaries = dict(
        add(folder, (task, 0, repetition), float(repetition <= task))
        for task in range(3)
        for repetition in (1, 2)
    )
    described = describe(folder, summaries)
    (row,) = of_domain(described)
    assert (row["n"], row["score"], row["runs"]) == (3, 0.5, 6)
    assert row["low"] < 0.5 < row["high"]
    assert [cells[0]["outcome"] for cells in described["cells"]] == ["wrong", "partial", "right"]


def test_each_model_is_compared_with_itself_without_a_sandbox(tmp_path: Path) -> None:
    members = (
        *MEMBERS,
        Member(label="other plain", mode="plain", model="other"),
        Member(label="other sandbox", mode="sandbox", model="other"),
        Member(label="third", mode="sandbox", model="third"),
    )
    definition = create(tmp_path, [sums(1)], members=members).definition
    assert [definition.baseline_of(index) for index in range(5)] == [0, 0, 2, 2, 0]


def test_of_several_members_without_a_sandbox_the_one_with_the_same_settings_is_compared(
    tmp_path: Path,
) -> None:
    warm = [replace(each, label=f"warm {each.label}", temperature=1.0) for each in MEMBERS]
    again = [replace(each, label=f"{each.label} (2)") for each in MEMBERS]
    other = Member(label="other plain", mode="plain", model="other")
    members = (*MEMBERS, *reversed(warm), *again, other)
    definition = create(tmp_path, [sums(1)], members=members).definition
    assert [definition.baseline_of(index) for index in range(7)] == [0, 0, 3, 3, 4, 4, 0]


def test_domains_have_their_own_results(tmp_path: Path) -> None:
    other = sums(1, name="letters", domain="chemistry")
    folder = create(tmp_path, [sums(2), other])
    described = describe(folder, fill(folder, "001", "111"))
    assert described["domains"] == ["mathematics", "chemistry"]
    gains = [of_domain(described, name)[1]["gain"] for name in ("all", *described["domains"])]
    assert gains == [2 / 3, 1.0, 0.0]


def test_it_opens_without_the_data_it_came_from_and_after_a_torn_line(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(2)])
    add(folder, (0, 0, 1), 1.0)
    with (folder.path / "runs.jsonl").open("ab") as file:
        file.write(b'{"task": 1, "member"')
    again = ExperimentFolder.open(tmp_path, folder.id)
    assert again.tasks == folder.tasks
    assert again.definition == folder.definition
    assert [entry.key for entry in again.runs()] == [(0, 0, 1)]
    assert again.add_run(0, 0, 1, "second").attempt == 2
    reopened = ExperimentFolder.open(tmp_path, folder.id)
    assert [entry.run for entry in reopened.runs()] == ["second"]
    (folder.path / "tasks.jsonl").write_text("")
    with pytest.raises(RunError, match="incomplete"):
        _ = ExperimentFolder.open(tmp_path, folder.id).tasks


def test_the_judge_s_failed_votes_and_agreement_are_reported(tmp_path: Path) -> None:
    judge = Judge(model="j", votes=4)
    folder = create(tmp_path, [sums(2, scorer="judge")], members=MEMBERS[:1], judge=judge)
    runs = dict(add(folder, (task, 0, 1), scored=False) for task in range(2))
    votes = (1.0, None, 1.0, 0.0), (None,) * 4
    for run, cast in zip(runs, votes, strict=True):
        mean = 2 / 3 if any(cast) else None
        folder.add_score(run, Grade(score=mean, votes=cast, grader="judge/2"), "42")
    described = describe(folder, runs)["judge"]
    assert (described["askedVotes"], described["failedVotes"]) == (8, 5)
    assert (described["answers"], described["unscored"]) == (2, 1)
    assert described["agreement"] == pytest.approx(2 / 3)


def test_exports_escape_names_and_say_what_they_are(tmp_path: Path) -> None:
    members = (MEMBERS[0], Member(label="=1+1 & <b>_", mode="sandbox", model="m"))
    folder = create(tmp_path, [sums(3)], members=members)
    summaries = fill(folder, "010", "11e")
    described = published(folder, summaries, describe(folder, summaries))
    exported = {kind: export(described, kind) for kind in kinds(described)}
    rows = list(csv.DictReader(io.StringIO(exported["csv"].decode())))
    assert rows[1]["label"] == "'=1+1 & <b>_"
    assert (rows[1]["gain"], rows[1]["infrastructure"]) == ("0.5", "1")
    assert r"=1+1 \& <b>\_" in exported["tex"].decode()
    figure = ElementTree.fromstring(exported["gains.svg"])
    assert "+50.0 (100.0 %), n = 2" in "".join(figure.itertext())
    assert exported["png"].startswith(b"\x89PNG")
    assert "failed by an infrastructure error" in table_as_text(described)
    with pytest.raises(UsageError):
        export(described, "exe")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"members": ()}, "1 to 12 members"),
        ({"repetitions": 0}, "repetitions, not 0"),
        ({"concurrency": 10_000}, "runs at a time"),
        ({"baseline": 2}, "no member 3"),
    ],
)
def test_a_definition_is_checked(changes: dict[str, object], message: str) -> None:
    values: dict[str, object] = {"members": MEMBERS, **changes}
    with pytest.raises(UsageError, match=re.escape(message)):
        check(Experiment(**values), [sums(1)])  # type: ignore[arg-type]
