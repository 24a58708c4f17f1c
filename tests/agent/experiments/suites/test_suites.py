"""Suites: the authors' data in the form in which they publish it, and the packaged samples."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent.errors import TaskError
from agent.experiments import suites
from tests.agent.experiments.suites.published import LETTERED, write_lines


def test_every_sample_is_complete() -> None:
    for name in suites.NAMES:
        suite = suites.load(name)
        assert suite.sample
        assert 5 <= len(suite.tasks) <= 8, name
        assert all(task.text.strip() and task.scorer == suite.scorer for task in suite.tasks)
        assert all(task.expected or task.arguments for task in suite.tasks)
        assert suite.source.startswith("https://")
        assert suite.licence


def test_an_unknown_suite_names_the_known_ones() -> None:
    with pytest.raises(TaskError, match=r"no suite 'gsm8k'.*aime, ugphysics, chembench"):
        suites.load("gsm8k")


def test_missing_data_says_where_it_is(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"nothing does not exist.*https://huggingface\.co/"):
        suites.load("aime", tmp_path / "nothing")
    with pytest.raises(TaskError, match=r"has none of the files test/\*_benchmark\.json"):
        suites.load("chembench", tmp_path)


def test_aime_as_json_lines_and_as_parquet(tmp_path: Path) -> None:
    rows = [{"problem": "1 + 1?", "answer": "2", "id": "0"}, {"problem": "2 + 2?", "answer": "4"}]
    loaded = suites.load("aime", write_lines(tmp_path / "test.jsonl", rows))
    assert [(task.id, task.expected) for task in loaded.tasks] == [("0", "2"), ("2", "4")]
    assert not loaded.sample

    import pyarrow
    import pyarrow.parquet

    table = {"problem_idx": [1, 2], "problem": ["1 + 1?", "2 + 2?"], "answer": [2, 4]}
    pyarrow.parquet.write_table(pyarrow.table(table), tmp_path / "train.parquet")
    loaded = suites.load("aime", tmp_path / "train.parquet")
    assert [(task.id, task.expected) for task in loaded.tasks] == [("1", "2"), ("2", "4")]


def test_aime_in_two_files(tmp_path: Path) -> None:
    for part in ("I", "II"):
        row = {"question": f"Part {part}?", "answer": 70}
        write_lines(tmp_path / f"aime2025-{part}.jsonl", [row])
    loaded = suites.load("aime", tmp_path)
    assert [task.id for task in loaded.tasks] == ["aime2025-I-1", "aime2025-II-2"]
    assert {task.expected for task in loaded.tasks} == {"70"}


def test_chembench_offers_its_choices(tmp_path: Path) -> None:
    folder = tmp_path / "test"
    folder.mkdir()
    (folder / "Yield_Prediction_benchmark.json").write_text(json.dumps([LETTERED]))
    (task,) = suites.load("chembench", tmp_path).tasks
    assert task.text == "Which?\n\nA. one\nB. two\nC. three\nD. four"
    assert (task.id, task.group, task.expected) == ("Yield_Prediction-1", "Yield_Prediction", "C")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "E"}, r"entry 1: answer 'E' is not one of A, B, C, D\."),
        ({"B": None}, r"entry 1: B is missing or empty\."),
        ({"question": 7.5}, None),
        ({"question": ["?"]}, r"entry 1: question must be a text, not list\."),
        ({"question": "?" * 1_000_001}, r"entry 1: question has 1,000,001 characters"),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, change: Any, message: str | None) -> None:
    path = tmp_path / "Solvent_Prediction_benchmark.json"
    path.write_text(json.dumps([LETTERED | change]))
    if message is None:
        assert suites.load("chembench", path).tasks[0].text.startswith("7.5")
        return
    with pytest.raises(TaskError, match=message):
        suites.load("chembench", path)


def test_a_part_of_a_suite_is_taken_evenly_from_its_groups() -> None:
    suite = suites.load("chembench")
    part = suite.first(4)
    assert len({task.group for task in part.tasks}) == 4
    assert len(suite.first(5).tasks) == 5
    assert suite.first(100) == suite
    groups = Counter(task.group for task in suite.first(6).tasks)
    assert sorted(groups.values()) == [1, 1, 1, 1, 2]


def test_two_tasks_with_one_id_are_refused(tmp_path: Path) -> None:
    rows = [{"problem": "?", "answer": "2", "id": "a"}] * 2
    with pytest.raises(TaskError, match="two tasks have the id 'a'"):
        suites.load("aime", write_lines(tmp_path / "test.jsonl", rows))


def test_the_example_of_the_documentation_works(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[4] / "docs" / "evaluation-suites.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out == "What is 17 * 23 + 4? 1.0\n"


PHYSICS: dict[str, Any] = {
    "index": 7,
    "domain": "d",
    "subject": "Thermodynamics",
    "problem": "How much?",
    "answers": "\\boxed{3}",
    "answer_type": "NV",
    "unit": "J",
    "is_multiple_answer": False,
    "language": "EN",
}


def test_ugphysics_states_the_unit_and_keeps_subjects_apart(tmp_path: Path) -> None:
    write_lines(tmp_path / "Thermodynamics" / "en.jsonl", [PHYSICS])
    write_lines(tmp_path / "Thermodynamics" / "zh.jsonl", [PHYSICS | {"language": "ZH"}])
    row = PHYSICS | {"subject": None, "index": None, "unit": None, "answers": ["1", "2"]}
    write_lines(tmp_path / "WaveOptics" / "en.jsonl", [row])
    heat, optics = suites.load("ugphysics", tmp_path).tasks
    found = (heat.id, heat.group, heat.expected)
    assert found == ("Thermodynamics-7", "Thermodynamics", "\\boxed{3} J")
    assert heat.text == "How much?\n\nUnit of the answer: J"
    assert heat.arguments == {"answer_type": "NV", "is_multiple_answer": False}
    assert (optics.id, optics.text, optics.expected) == ("WaveOptics-1", "How much?", "1, 2")


MEDICAL: dict[str, Any] = {
    "id": "Text-7",
    "question": "Which?",
    "label": "J",
    "medical_task": "Treatment",
    "options": {letter: f"option {letter}" for letter in "ABCDEFGHIJ"},
}


def test_medxpertqa_offers_up_to_ten_choices(tmp_path: Path) -> None:
    listed = [{"letter": letter, "content": letter * 2} for letter in "ABCDE"]
    inside = "Which? Answer Choices: (A) one (B) two"
    rows = [
        MEDICAL,
        MEDICAL | {"id": "Text-8", "options": listed, "label": "B"},
        MEDICAL | {"id": "Text-9", "question": inside},
        MEDICAL | {"id": "Text-10", "label": "A",
                   "options": {letter: letter if letter < "D" else None for letter in "ABCD"}},
    ]  # fmt: skip
    write_lines(tmp_path / "Text" / "test.jsonl", rows)
    ten, five, same, three = suites.load("medxpertqa", tmp_path).tasks
    assert (ten.choices, ten.expected, ten.group) == ("ABCDEFGHIJ", "J", "Treatment")
    assert ten.text.endswith("\nI. option I\nJ. option J")
    assert (five.choices, five.text) == ("ABCDE", "Which?\n\nA. AA\nB. BB\nC. CC\nD. DD\nE. EE")
    assert (same.text, three.choices) == (inside, "ABC")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "K"}, r"line 1: label 'K' is not one of A, B, C, D, E, F, G, H, I, J\."),
        ({"options": {"A": "one"}}, r"options must be 2 to 10 texts under A, B, C, …"),
        ({"options": {"A": "one", "C": "two"}}, r"options must be 2 to 10 texts"),
        ({"options": {"A": "one", "B": 2}}, r"options must be texts"),
        ({"options": [{"letter": "A"}]}, r"options must have items with letter and content"),
        ({"options": "A"}, r"options must be an object: letter → text"),
    ],
)
def test_wrong_choices_are_named(tmp_path: Path, change: Any, message: str) -> None:
    path = write_lines(tmp_path / "test.jsonl", [MEDICAL | change])
    with pytest.raises(TaskError, match=message):
        suites.load("medxpertqa", path)
