"""A comparison's folder: what is stored, and what survives a kill at any byte."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import RunError, UsageError
from agent.experiments.experiment import ExpectedAnswer, Experiment, Judge, Member, check
from agent.experiments.folder import ExperimentFolder
from agent.experiments.suite import DataFile
from agent.grading.checks import Grade

PLAIN = Member(label="Without", mode="plain", model="m")
SANDBOX = Member(label="In the sandbox", mode="sandbox", model="m", extra_body={"top_k": 20})
COMPARISON = Experiment(
    task="How many?\nIn all files.",
    members=(PLAIN, SANDBOX),
    inputs=(DataFile(path="a.txt", size=3, sha256="0" * 64),),
    repetitions=3,
    expected=ExpectedAnswer(kind="number", answer="7", tolerance=0.5),
)


def test_a_comparison_opens_as_it_was_created(tmp_path: Path) -> None:
    created = ExperimentFolder.create(tmp_path, COMPARISON)
    opened = ExperimentFolder.open(tmp_path, created.id)
    assert opened.definition == created.definition
    assert opened.definition.members == COMPARISON.members
    assert opened.definition.expected == COMPARISON.expected
    assert [each.id for each in ExperimentFolder.all(tmp_path, "comparison")] == [created.id]
    opened.delete()
    assert list((tmp_path / "comparisons").iterdir()) == []


@pytest.mark.parametrize("name", ["../../etc", "", "no-such-comparison", "a/b"])
def test_an_unknown_id_is_not_found(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunError, match="no such comparison"):
        ExperimentFolder.open(tmp_path, name)


def test_a_damaged_record_is_reported_and_not_listed(tmp_path: Path) -> None:
    folder = ExperimentFolder.create(tmp_path, COMPARISON)
    (folder.path / "comparison.json").write_text("{")
    with pytest.raises(RunError, match="cannot be read"):
        ExperimentFolder.open(tmp_path, folder.id)
    assert ExperimentFolder.all(tmp_path, "comparison") == []


def test_the_title_and_the_links_are_kept(tmp_path: Path) -> None:
    folder = ExperimentFolder.create(tmp_path, COMPARISON)
    folder.set_title(" A \n title\x00 ")
    folder.set_share_link_digests(["one", "two"])
    folder.set_pinned(True)
    folder.set_stopped(True)
    opened = ExperimentFolder.open(tmp_path, folder.id)
    assert (opened.title, opened.share_link_digests) == ("A title", ("one", "two"))
    assert (opened.pinned, opened.stopped) == (True, True)


def test_a_repetition_that_is_started_again_replaces_the_earlier_run(tmp_path: Path) -> None:
    folder = ExperimentFolder.create(tmp_path, COMPARISON)
    folder.add_run(0, 1, 1, "second")
    folder.add_run(0, 0, 1, "first")
    folder.add_run(0, 0, 1, "again")
    found = [(each.member, each.repetition, each.run) for each in folder.runs()]
    assert found == [(0, 1, "again"), (1, 1, "second")]


def test_the_list_of_runs_survives_a_kill_at_any_byte(tmp_path: Path) -> None:
    folder = ExperimentFolder.create(tmp_path, COMPARISON)
    folder.add_run(0, 0, 1, "first")
    with (folder.path / "runs.jsonl").open("ab") as file:  # unreadable lines are skipped
        file.write(b'{"kind": "of a newer version"}\n\xff\n')
    whole = (folder.path / "runs.jsonl").read_bytes()
    folder.add_run(0, 0, 2, "second")
    both = (folder.path / "runs.jsonl").read_bytes()
    for cut in range(len(whole), len(both)):
        (folder.path / "runs.jsonl").write_bytes(both[:cut])
        opened = ExperimentFolder.open(tmp_path, folder.id)
        assert [each.run for each in opened.runs()] == ["first"]
        opened.add_run(0, 0, 2, "again")
        again = ExperimentFolder.open(tmp_path, folder.id)
        assert [each.run for each in (*opened.runs(), *again.runs())] == ["first", "again"] * 2


def test_the_last_verdict_of_the_judge_counts(tmp_path: Path) -> None:
    folder = ExperimentFolder.create(tmp_path, COMPARISON)
    folder.add_score("r", Grade(score=0.0, votes=(0.0,)), "7")
    folder.add_score("r", Grade(score=0.5, votes=(1.0, None, 0.0)), "7")
    assert folder.scores()["r"].votes == (1.0, None, 0.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": " "}, "needs a task"),
        ({"members": (PLAIN,)}, "2 to 12 members, not 1"),
        ({"members": (PLAIN,) * 13}, "2 to 12 members, not 13"),
        ({"repetitions": 65}, "1 to 64 repetitions, not 65"),
        ({"baseline": 2}, "no member 3"),
        ({"expected": ExpectedAnswer(kind="exact", answer="")}, "expected answer has"),
        ({"expected": ExpectedAnswer(kind="judge", answer="7")}, "judge"),
        ({"expected": ExpectedAnswer(kind="exact", answer="7", judge=Judge(model="m"))}, "judge"),
        ({"members": (PLAIN, replace(PLAIN, base_url="http://u:p@h"))}, "key in its own field"),
    ],
)
def test_a_wrong_definition_is_refused_with_its_reason(
    changes: dict[str, object], message: str
) -> None:
    check(COMPARISON)
    with pytest.raises(UsageError, match=message):
        check(replace(COMPARISON, **changes))  # type: ignore[arg-type]
