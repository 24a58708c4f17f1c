"""Task records: reading, writing, validation, and their files in a workspace."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.errors import TaskError
from agent.tasks.jsonl import read_answers, read_tasks, write_tasks
from agent.tasks.setup import build_task, write_inputs
from agent.tasks.task import Content, HostFile, TaskRecord
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath

VALID_RECORD: dict[str, Any] = {
    "id": "a-1",
    "domain": "letters",
    "problem_statement": "Who wrote on {date}?",
    "ground_truth": "Anna",
    "input_files": {"letters/2026/anna.txt": "Dear Bert,\r\n{x} é\n"},
    "qa_type": "exact",
}
INVALID_FILES: list[object] = [[], "x", "[" * 100_000, '{"../a": "x"}', 3, {"a": None}]
INVALID_CONTENTS: list[object] = [
    {}, {"base64": "%"}, {"path": "/etc/x"}, {"path": "../b"}, {"path": "a", "base64": ""},
    "\udfff",
]  # fmt: skip


def write_records(folder: Path, *values: object) -> Path:
    path = folder / "tasks.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def create_workspace(folder: Path) -> Workspace:
    (folder / "run" / "workspace").mkdir(parents=True)
    return Workspace(folder / "run" / "workspace")


def test_records_survive_a_round_trip(tmp_path: Path) -> None:
    pdf = b"%PDF-1.4\n" + bytes(range(256)) * 100
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "map.pdf").write_bytes(pdf)
    files: dict[str, Content] = {
        "a/b.txt": "é\u2028\n",
        "x.png": pdf,
        "m.pdf": HostFile(tmp_path, RelPath("files/map.pdf")),
    }
    problem = TaskRecord("q", "What?", "AC", "multiple_choice", "maps", files)
    path = tmp_path / "tasks.jsonl"
    assert write_tasks(path, [problem]) == 1
    (record,) = read_tasks(path)
    assert record == problem
    workspace = create_workspace(tmp_path)
    write_inputs(record, workspace)
    with pytest.raises(TaskError, match="already exists"):
        write_inputs(record, workspace)
    written = {name: (workspace.root / "input" / name).read_bytes() for name in files}
    assert written == {"a/b.txt": "é\u2028\n".encode(), "x.png": pdf, "m.pdf": pdf}


def test_the_reference_records_are_read(tmp_path: Path) -> None:
    path, files = tmp_path / "t.jsonl", VALID_RECORD["input_files"]
    first = json.dumps({**VALID_RECORD, "input_files": None})
    second = json.dumps({**VALID_RECORD, "id": "b", "input_files": json.dumps(files)})
    path.write_text(f"\ufeff{first}\r\n\n{second}")
    assert [each.input_files for each in read_tasks(path)] == [{}, files]


@pytest.mark.parametrize(
    ("change", "key"),
    [({key: None}, key) for key in ("id", "problem_statement", "ground_truth", "qa_type")]
    + [({key: " "}, key) for key in ("id", "problem_statement", "ground_truth", "qa_type")]
    + [({"qa_type": "guess"}, "qa_type"), ({"qa_typ": "exact"}, "qa_typ")]
    + [({"domain": 3}, "domain")]
    + [({"qa_type": "single_choice"}, "ground_truth"), ({"id": "\ud800"}, "id")]
    + [({"input_files": value}, "input_files") for value in INVALID_FILES]
    + [({"input_files": {"a": value}}, "'a'") for value in INVALID_CONTENTS]
    + [({"input_files": {"a": "", "a/b": ""}}, "'a'")],
)
def test_an_invalid_record_is_reported_with_file_line_and_key(
    tmp_path: Path, change: dict[str, object], key: str
) -> None:
    path = write_records(tmp_path, VALID_RECORD, {**VALID_RECORD, "id": "a-2", **change})
    with pytest.raises(TaskError) as caught:
        list(read_tasks(path))
    assert str(caught.value).startswith(f"{path}, line 2: ")
    assert key in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["", "/etc/passwd", "../up", "a/../../up", "a//b", "a/", "./a", "a\0b", "x" * 256, "\ud800",
     "a/" * 3000 + "b"],
)  # fmt: skip
def test_hostile_names_are_refused(tmp_path: Path, name: str) -> None:
    path = write_records(tmp_path, {**VALID_RECORD, "input_files": {name: "x"}})
    with pytest.raises(TaskError, match="line 1: input_files"):
        list(read_tasks(path))
    workspace = create_workspace(tmp_path)
    with pytest.raises(TaskError, match="input_files"):
        write_inputs(TaskRecord("q", "?", "x", "exact", "", {name: "x"}), workspace)
    assert not (tmp_path / "up").exists()


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "3", '"x"', "[" * 100_000, "\ud800", '{"id": "a", "id": "b"}', "9" * 5_000, "\0"],
)
def test_a_line_that_is_not_a_record_is_reported(tmp_path: Path, line: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(line.encode("utf-8", "surrogatepass") + b"\n")
    with pytest.raises(TaskError, match="line 1: "):
        list(read_tasks(path))


def test_a_duplicate_id_is_reported(tmp_path: Path) -> None:
    path = write_records(tmp_path, VALID_RECORD, {**VALID_RECORD, "id": "b"}, VALID_RECORD)
    with pytest.raises(TaskError, match="line 3: id: 'a-1' is also the id of line 1"):
        list(read_tasks(path))


@pytest.mark.parametrize("name", ["link", "missing", "folder"])
def test_links_folders_and_missing_files_are_not_copied(tmp_path: Path, name: str) -> None:
    (tmp_path / "link").symlink_to("/etc/hostname")
    (tmp_path / "folder").mkdir()
    problem = TaskRecord("q", "?", "x", "exact", "", {"a": HostFile(tmp_path, RelPath(name))})
    with pytest.raises(TaskError, match="'q': input_files"):
        write_inputs(problem, create_workspace(tmp_path))


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = write_records(tmp_path, VALID_RECORD)
    before = path.read_bytes()
    outside = HostFile(Path("/etc"), RelPath("hostname"))
    with pytest.raises(TaskError, match="is not below the folder"):
        write_tasks(path, [TaskRecord("q", "?", "x", "exact", "", {"a": outside})])
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(TaskError, match="cannot be written"):
        write_tasks(tmp_path / "no" / "t.jsonl", [])


def test_answers_are_read_by_id(tmp_path: Path) -> None:
    lines = {"id": "a", "answer": "B", "steps": 3}, {"id": "b", "answer": None}
    assert read_answers(write_records(tmp_path, *lines)) == {"a": "B", "b": None}


@pytest.mark.parametrize(
    ("value", "key"), [({"answer": "x"}, "id"), ({"id": "b", "answer": 3}, "answer"), ([], "id")]
)
def test_an_invalid_answer_is_reported(tmp_path: Path, value: object, key: str) -> None:
    path = write_records(tmp_path, {"id": "a"}, value)
    with pytest.raises(TaskError, match=f"line 2: {key}"):
        read_answers(path)


def test_the_prompt_names_the_input_folder_and_the_answer_file() -> None:
    problem = TaskRecord("q", "Which {task}?", "AC", "multiple_choice", "", {"a.txt": "x"})
    task = build_task(problem)
    assert (task.mode, task.prompt.name) == ("sandbox", "general")
    assert task.text.startswith("Which {task}?\n\n")
    assert "/workspace/input" in task.text
    assert task.text.endswith("to /workspace/output/answer.txt.")
    assert "/workspace" not in build_task(problem, "plain").text
