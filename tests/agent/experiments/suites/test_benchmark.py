"""The paper's own benchmark: its rows as all six suites, and what its preset sets."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.cli.main import main
from agent.errors import TaskError, UsageError
from agent.experiments import suites
from agent.experiments.description import describe
from agent.experiments.experiment import Experiment, Judge, Member
from agent.experiments.folder import ExperimentFolder
from agent.experiments.publish.exports import table_as_text
from agent.experiments.setup import set_up
from agent.experiments.suite import Suite
from agent.experiments.suites import presets
from agent.grading.grade import grade
from agent.models.builtin.install import BUILTIN_ID
from agent.settings import Settings
from tests.agent.experiments.suites.published import write_lines
from tests.support.evaluations.benchmark import COUNTS, ROWS, write_parquet


@pytest.mark.parametrize("files_as_json", [True, False])
def test_the_folder_of_the_hubs_client_has_all_six_suites(
    tmp_path: Path, *, files_as_json: bool
) -> None:
    folder = write_parquet(tmp_path, files_as_json=files_as_json)
    for name, count in COUNTS.items():
        suite = suites.load(name, folder)
        assert (len(suite.tasks), suite.sample) == (count, False)
        assert all(task.scorer == suite.scorer for task in suite.tasks)
    assert [task.id for task in suites.load("aime", folder).tasks] == ["aime_0_0", "aime_1_0"]
    assert [task.choices for task in suites.load("medxpertqa", folder).tasks] == [
        "ABC", "ABCDEFGHIJ",
    ]  # fmt: skip
    assert [dict(task.inputs) for task in suites.load("aa_lcr", folder).tasks] == [
        {"letter.txt": "Yours, Ada"}, {"note.txt": "Bob"},
    ]  # fmt: skip
    assert suites.load("ugphysics", folder).tasks[0].group == "Mechanics"
    (request,) = suites.load("ifbench", folder).tasks
    assert request.arguments == {"rules": [{"rule": "count:numbers", "arguments": {"N": 1}}]}


@pytest.mark.parametrize("name", ["math.jsonl", "math/test.jsonl", "data/math-test.jsonl"])
def test_other_places_of_the_same_rows(tmp_path: Path, name: str) -> None:
    write_lines(tmp_path / name, ROWS["math"])
    assert len(suites.load("aime", tmp_path).tasks) == 2
    assert len(suites.load("aime", tmp_path / name).tasks) == 2


@pytest.mark.parametrize(
    ("suite", "row", "message"),
    [
        ("chembench", {"ground_truth": "E"}, r"line 1: ground_truth 'E' is not one of A, B, C, D"),
        ("aime", {"ground_truth": ""}, r"line 1: ground_truth is missing or empty"),
        ("aime", {"input_files": "{"}, r"line 1: input_files is a text that is not valid JSON"),
        ("aa_lcr", {"input_files": {"../x": "y"}}, r"line 1: input_files\['\.\./x'\]"),
        ("ifbench", {"ground_truth": "[]"}, r"line 1: ground_truth must be an object"),
        ("ifbench", {"ground_truth": "{"}, r"line 1: ground_truth is not valid JSON"),
    ],
)
def test_a_wrong_row_is_named(
    tmp_path: Path, suite: str, row: dict[str, Any], message: str
) -> None:
    usual = {"id": "x", "problem_statement": "?", "ground_truth": "A"}
    path = write_lines(tmp_path / "test.jsonl", [usual | row])
    with pytest.raises(TaskError, match=message):
        suites.load(suite, path)


def test_score_reads_the_rows_and_names_what_has_no_score(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(write_parquet(tmp_path / "data"))
    given = [{"id": "b0", "answer": "The answer is C"}, {"id": "b1", "answer": "A"}]
    results = str(write_lines(tmp_path / "results.jsonl", given))
    assert main(["score", data, results, "--suite", "medxpertqa"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[:4] == ["all", "2", "2", "0.500"]
    assert main(["score", data, results, "--suite", "ugphysics"]) == 1
    assert "scored by a judge" in capsys.readouterr().err
    rows = write_lines(tmp_path / "rows.jsonl", ROWS["biomed"])
    assert main(["score", str(rows), results]) == 1
    assert "qa_type: is missing" in capsys.readouterr().err


def paper(name: str, **changes: Any) -> Suite:
    return replace(presets.follow(suites.load(name), "paper"), **changes)


MEMBERS = (
    Member(label="Qwen", mode="sandbox", model="Qwen3-4B-Instruct-2507"),
    Member(label="DeepSeek", mode="plain", model="DeepSeek-V3.2", seed=7),
    Member(label="Cool", mode="plain", model="gpt-5", temperature=0.2),
    Member(label="Built-in", mode="plain", model=BUILTIN_ID),
)
JUDGE = presets.follow_judge(
    Judge(model="Qwen/Qwen3-235B-A22B-Instruct-2507", votes=4), "paper"
)  # fmt: skip


def stored(tmp_path: Path, names: list[Suite], **values: Any) -> ExperimentFolder:
    return ExperimentFolder.create(tmp_path, Experiment(members=MEMBERS, **values), names)


def test_the_preset_sets_what_members_leave_open(tmp_path: Path) -> None:
    folder = stored(tmp_path, [paper("aa_lcr"), paper("aime", parameters={"top_p": 0.8})])
    math = len(suites.load("aa_lcr").tasks)
    qwen, deepseek, cool, builtin = (
        set_up(folder, (math, at, 2), member.spec(), Settings(conversation_tokens=None))
        for at, member in enumerate(MEMBERS)
    )
    assert (qwen.temperature, qwen.top_p, qwen.prompt) == (0.7, 0.8, "paper/math")
    assert (qwen.max_steps, qwen.max_conversation_tokens) == (100, 65_536)
    assert (deepseek.temperature, deepseek.seed) == (1.0, 8)
    assert deepseek.extra_body == {"chat_template_kwargs": {"thinking": True}}
    assert (cool.temperature, builtin.temperature) == (0.2, None)
    assert folder.repetitions_of(0) == 4
    assert folder.repetitions_of(math) == 16
    long = set_up(folder, (0, 0, 1), MEMBERS[0].spec(), Settings(conversation_tokens=None))
    assert (long.max_conversation_tokens, long.prompt) == (131_072, "paper/long_context")


def test_what_departs_from_the_preset_is_in_the_tables_foot(tmp_path: Path) -> None:
    chosen = [paper("aime", repeat=2, parameters={"top_p": 0.8}), paper("ugphysics")]
    folder = stored(tmp_path, chosen, judge=replace(JUDGE, votes=1))
    found = presets.departures(folder.definition)
    assert found == [
        "AIME 2025: 7 tasks instead of 30",
        "AIME 2025: 2 repetitions instead of 16",
        "AIME 2025: top_p 0.8",
        "UGPhysics: 6 tasks instead of 650",
        "Cool: temperature 0.2 instead of 1",
        "Judge: votes 1 instead of 4",
    ]
    text = table_as_text(describe(folder, {}))
    assert "Preset paper: " in text
    assert "Overridden: AIME 2025: 7 tasks instead of 30; " in text
    plain = stored(tmp_path, [suites.load("aime")])
    assert describe(plain, {})["preset"] is None


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no preset “book”\. Choose paper\."):
        presets.follow(suites.load("aime"), "book")


def test_rules_are_read_as_the_papers_reward_does() -> None:
    """It leaves the asterisks in a text without its first line; IFBench's authors do not."""
    rule = {"rule": "format:options", "arguments": {"options": "(a), (b), (c)"}}
    suite = paper("ifbench")
    task = replace(suite.tasks[0], arguments={"rules": [rule]})
    found = [
        grade(each.expected(task), "Sure:\n**(b)**")
        for each in (replace(suite, extraction="lenient"), suite)
    ]
    assert [each and (each.score, each.grader) for each in found] == [
        (1.0, "rules/3"), (0.0, "rules/reference/3"),
    ]  # fmt: skip


def test_the_preset_travels_with_the_record(tmp_path: Path) -> None:
    folder = stored(tmp_path, [paper("ugphysics")], judge=JUDGE)
    (again,) = ExperimentFolder.open(tmp_path, folder.id).definition.suites
    assert again == folder.definition.suites[0]
    assert again.judge_words == ("CORRECT", "INCORRECT")
    assert json.loads((folder.path / "evaluation.json").read_text())["definition"]["judge"]
