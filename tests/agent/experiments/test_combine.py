"""Evaluations that grow by members and tasks, and several that become one."""

import errno
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from agent.errors import UsageError
from agent.experiments.combine.extend import extend, with_members
from agent.experiments.combine.merge import merge
from agent.experiments.description import describe
from agent.experiments.experiment import Judge, Member
from agent.experiments.folder import ExperimentFolder
from agent.experiments.members import complete
from agent.experiments.outcomes import missing
from agent.experiments.suite import DataFile
from agent.grading.checks import Grade
from agent.runs.summary import Summary
from agent.tasks.task import chunks_of
from tests.support.evaluations.stored import MEMBERS, create, summary
from tests.support.evaluations.suites import of_domain, sums

OTHER = Member(label="", mode="plain", model="other")


def run_all(folder: ExperimentFolder, value: float, prefix: str = "r") -> dict[str, Summary | None]:
    """Record what is missing as ended runs with a score."""
    found: dict[str, Summary | None] = {}
    for key in missing(folder, {}):
        run = f"{prefix}-{'-'.join(map(str, key))}"
        folder.add_run(*key, run)
        folder.add_score(run, Grade(score=value, votes=(value,), grader="math/lenient/3"), "42")
        found[run] = summary(folder.definition.members[key[1]].mode)
    return found


def test_members_and_tasks_are_added_and_only_they_are_run(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(2), sums(1, "more", domain="physics")])
    known = run_all(folder, 1.0)
    members = with_members(folder.definition.members, [MEMBERS[0], replace(OTHER, label="plain")])
    assert [each.label for each in members] == ["plain", "sandbox", "other, Without sandbox"]
    assert extend(folder, members, [sums(4)]) == (1, 2)

    again = ExperimentFolder.open(tmp_path, folder.id)
    assert [task.id for task in again.tasks] == ["1", "2", "1", "3", "4"]
    new = [(0, 2, 1), (1, 2, 1), (2, 2, 1), *((task, at, 1) for task in (3, 4) for at in range(3))]
    assert missing(again, known) == new
    described = describe(again, known)
    assert [(each["name"], each["tasks"]) for each in described["suites"]] == [
        ("sums", 4), ("more", 1),
    ]  # fmt: skip
    assert [each["n"] for each in of_domain(described, "mathematics")] == [2, 2, 0]
    assert extend(again, members, [sums(4)]) == (0, 0)


def test_an_interrupted_extension_adds_nothing(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(2)])
    before = (folder.path / "evaluation.json").read_bytes()
    extend(folder, folder.definition.members, [sums(4)])
    (folder.path / "evaluation.json").write_bytes(before)  # killed before the record was written
    again = ExperimentFolder.open(tmp_path, folder.id)
    assert [task.id for task in again.tasks] == ["1", "2"]
    assert extend(again, again.definition.members, [sums(3)]) == (0, 1)
    assert [task.id for task in ExperimentFolder.open(tmp_path, folder.id).tasks] == list("123")


def test_a_document_that_could_not_be_read_to_its_end_is_kept_whole_by_the_next_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = create(tmp_path, [sums(2)])
    suite = sums(3)
    with_document = replace(suite.tasks[2], inputs={"a.txt": b"whole"})
    suite = replace(suite, tasks=(*suite.tasks[:2], with_document))

    def breaking(*_: object) -> Iterator[bytes]:
        yield b"who"
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("agent.experiments.folder._digest", lambda _: sha256(b"whole").hexdigest())
        patched.setattr("agent.experiments.folder.chunks_of", breaking)
        with pytest.raises(OSError, match="No space"):
            extend(folder, folder.definition.members, [suite])
    again = ExperimentFolder.open(tmp_path, folder.id)
    assert extend(again, again.definition.members, [suite]) == (0, 1)
    assert b"".join(chunks_of(again.tasks[2].inputs["a.txt"])) == b"whole"


def test_a_task_that_changed_is_not_added(tmp_path: Path) -> None:
    folder = create(tmp_path, [sums(2)])
    other = sums(2)
    changed = replace(other, tasks=(replace(other.tasks[0], expected="3"),))
    with pytest.raises(UsageError, match="the task '1' is another one now"):
        extend(folder, folder.definition.members, [changed])


def test_evaluations_merge_into_one_table(tmp_path: Path) -> None:
    first = create(tmp_path, [sums(2)], repetitions=2)
    second = create(tmp_path, [sums(3)], members=(replace(MEMBERS[0], model="other"),))
    summaries = run_all(first, 1.0, "a") | run_all(second, 0.0, "b")
    merged = merge([first, second], "Both")
    described = describe(merged, summaries)
    assert [each["label"] for each in described["members"]] == ["plain", "sandbox", "plain (2)"]
    found = of_domain(described)
    assert [(each["n"], each["score"]) for each in found] == [(2, 1.0), (2, 1.0), (3, 0.0)]
    assert described["counts"]["done"] == described["counts"]["total"] == 11
    assert described["state"] == "finished"
    assert missing(merged, summaries) == []
    score = ExperimentFolder.open(tmp_path, merged.id).score("b-2-0-1")
    assert score is not None
    assert score.votes == (0.0,)


def test_a_merged_suite_names_the_files_of_all_that_was_added(tmp_path: Path) -> None:
    one, two, three = (DataFile(path=name, size=1, sha256=name) for name in "abc")
    first, second = create(tmp_path, [sums(1, files=(one,))]), create(tmp_path, [sums(2)])
    extend(first, first.definition.members, [sums(2, files=(one, two))])
    extend(second, second.definition.members, [sums(3, files=(three,))])
    (suite,) = merge([first, second]).definition.suites
    assert (suite.tasks, suite.files) == (3, (one, two, three))


def test_automatic_labels_tell_the_members_of_all(tmp_path: Path) -> None:
    folders = [
        create(tmp_path, [sums(1)], members=complete([replace(each, label="", model=model)
                                                      for each in MEMBERS], ""))
        for model in ("a", "b", "b")
    ]  # fmt: skip
    assert [each.label for each in folders[0].definition.members] == [
        "Without sandbox", "With sandbox"
    ]  # fmt: skip
    labels = [each.label for each in merge(folders[:2]).definition.members]
    assert labels == ["a, Without sandbox", "a, With sandbox", "b, Without sandbox",
                      "b, With sandbox"]  # fmt: skip
    twice = [each.label for each in merge(folders[1:]).definition.members]
    assert twice == [
        "Without sandbox 1", "With sandbox 2", "Without sandbox 3", "With sandbox 4"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"extraction": "reference"}, "was not carried out alike: extraction"),
        ({"prompt": "general"}, "was not carried out alike: prompt"),
        ({"preset": "paper", "parameters": {"seed": 1}}, "alike: preset, parameters"),
    ],
)
def test_what_was_carried_out_otherwise_is_not_merged(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    first, second = create(tmp_path, [sums(1)]), create(tmp_path, [sums(1, **changes)])
    with pytest.raises(UsageError, match=message):
        merge([first, second])


def test_other_evaluations_that_do_not_merge(tmp_path: Path) -> None:
    first = create(tmp_path, [sums(1)])
    elsewhere = create(tmp_path / "other", [sums(1)])
    for folders, message in (
        ([first], "two or more"),
        ([first, first], "each once"),
        ([first, elsewhere], "different data folders"),
        ([create(tmp_path, [sums(1, scorer="judge")], judge=Judge(model=name))
          for name in ("a", "b")], "different judges"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            merge(folders)
