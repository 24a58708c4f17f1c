"""AA-LCR: the documents of a question come from a folder or the archive, and nowhere else."""

import csv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.errors import TaskError
from agent.experiments import suites
from agent.experiments.suite import EvalTask
from agent.experiments.suites import aa_lcr

FIELDS = ("", "document_category", "document_set_id", "question_id", "question", "answer",
          "data_source_filenames", "data_source_urls", "input_tokens")  # fmt: skip


def write_table(folder: Path, names: str, set_id: str = "set_1") -> None:
    row = ("0", "Legal", set_id, "12", "Who?", "Ann", names, "", "42")
    with (folder / "AA-LCR_Dataset.csv").open("w", newline="") as file:
        csv.writer(file).writerows([FIELDS, row])


def write_documents(folder: Path) -> None:
    inside = folder / "lcr" / "Legal" / "set_1"
    inside.mkdir(parents=True)
    (inside / "first act.txt").write_text("one")
    (inside / "second.txt").write_text("two")


def write_archive(folder: Path) -> None:
    (folder / "extracted_text").mkdir()
    archive = folder / "extracted_text" / "AA-LCR_extracted-text.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("lcr/Legal/set_1/first act.txt", "one")
        file.writestr("lcr/Legal/set_1/second.txt", "two")


Write = Callable[[Path], None]
both = pytest.mark.parametrize("write", [write_documents, write_archive])


def load(folder: Path) -> EvalTask:
    (task,) = suites.load("aa_lcr", folder).tasks
    return task


@both
def test_documents_keep_their_order(tmp_path: Path, write: Write) -> None:
    write(tmp_path)
    write_table(tmp_path, "second.txt;first act.txt")
    task = load(tmp_path)
    assert (task.id, task.group, task.expected) == ("12", "Legal", "Ann")
    assert list(task.inputs.items()) == [("second.txt", "two"), ("first act.txt", "one")]


@both
@pytest.mark.parametrize(
    ("names", "set_id", "message"),
    [
        ("../../../secret.txt", "set_1", r"line 2: data_source_filenames .* is not a folder"),
        ("/etc/passwd", "set_1", r"is not a folder, a set and a file"),
        ("second.txt", "..", r"is not a folder, a set and a file"),
        ("third.txt", "set_1", r"line 2: data_source_filenames .*third\.txt"),
        ("second.txt;second.txt", "set_1", r"data_source_filenames has a name twice"),
        (";".join(f"{n}.txt" for n in range(201)), "set_1", r"has 201 names; the maximum is 200"),
        ("second.txt", "", r"document_set_id is missing or empty"),
    ],
)
def test_names_stay_in_the_folder_of_their_set(
    tmp_path: Path, write: Write, names: str, set_id: str, message: str
) -> None:
    (tmp_path.parent / "secret.txt").write_text("secret")
    write(tmp_path)
    write_table(tmp_path, names, set_id)
    with pytest.raises(TaskError, match=message):
        load(tmp_path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    write_documents(tmp_path)
    (tmp_path / "lcr" / "Legal" / "set_1" / "third.txt").symlink_to("/etc/hostname")
    write_table(tmp_path, "third.txt")
    with pytest.raises(TaskError, match=r"third\.txt"):
        load(tmp_path)


@both
def test_documents_are_bounded(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path)
    write_table(tmp_path, "second.txt")
    monkeypatch.setattr(aa_lcr, "MAX_DOCUMENT_BYTES", 2)
    with pytest.raises(TaskError, match="is larger than 2 bytes"):
        load(tmp_path)


def test_missing_and_damaged_documents(tmp_path: Path) -> None:
    write_table(tmp_path, "second.txt")
    with pytest.raises(TaskError, match=r"neither the folder lcr nor extracted_text/AA-LCR_ext"):
        load(tmp_path)
    (tmp_path / "AA-LCR_extracted-text.zip").write_bytes(b"PK")
    with pytest.raises(TaskError, match=r"AA-LCR_extracted-text\.zip cannot be read"):
        load(tmp_path)


def test_an_archive_with_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_archive(tmp_path)
    write_table(tmp_path, "second.txt")
    monkeypatch.setattr(aa_lcr, "MAX_ARCHIVE_ENTRIES", 1)
    with pytest.raises(TaskError, match="has more than 1 files"):
        load(tmp_path)
