"""Runs of this program are imported from their exports; nothing in an export is trusted."""

import io
import itertools
import json
import shutil
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.errors import TraceError
from agent.events import FileChange, RunStarted, SandboxReady, TextDelta, ToolOutput, decode, encode
from agent.fork.describe import describe_fork
from agent.fork.fork import fork_run
from agent.replay.replay import open_recording
from agent.runs.disk_usage import run_sandbox_ids
from agent.runs.folder import RunFolder
from agent.traces import zip_members
from agent.traces.importing import import_file
from agent.traces.own import export, run_import
from agent.traces.own.export import MAX_LINE_BYTES
from agent.traces.own.run_import import FORMAT
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import ManifestLog
from tests.agent.report.recorded import Recorder
from tests.agent.traces.samples import events_of, state_of
from tests.support.component.events import bash, ended, of_type, started, step
from tests.support.local_provider import LocalSandboxProvider


@pytest.fixture
def exported(tmp_path: Path) -> RunFolder:
    recorder = Recorder(tmp_path / "elsewhere")
    recorder.step("echo one", "one\n", files={"output/a.txt": b"first", "b.txt": b"kept"})
    recorder.step("echo two", "two\n", files={"output/a.txt": b"second"})
    return recorder.end()


def zip_of(folder: RunFolder, **more: bytes) -> bytes:
    """Return what Export → Download everything does: files/ and the contents that it lacks."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("journal.jsonl", folder.journal.read_bytes())
        archive.writestr("conversation.md", "# Count the lakes.")
        archive.writestr("manifests.jsonl", folder.manifests.read_bytes())
        log, blobs = ManifestLog(folder.manifests), BlobStore(folder.data / "blobs")
        for path, node in log.manifest().nodes.items():
            archive.writestr(f"files/{path}", blobs.path(node.hash or "").read_bytes())
        for node in log.manifest(1).nodes.values():
            archive.writestr(f"contents/{node.hash}", blobs.path(node.hash or "").read_bytes())
        for name, content in more.items():
            archive.writestr(name, content)
    return out.getvalue()


def imported(content: bytes | Path, data: Path, name: str = "run.zip") -> RunFolder:
    file = content if isinstance(content, Path) else data.parent / name
    if isinstance(content, bytes):
        file.write_bytes(content)
    (run,) = import_file(file, data)
    assert run.format == FORMAT
    return RunFolder.open(data, run.run)


def test_a_zip_file_keeps_what_is_needed_to_read_fork_and_replay_it(
    exported: RunFolder, tmp_path: Path
) -> None:
    run = imported(zip_of(exported), tmp_path / "data")
    before, after = state_of(exported.data, exported.id), state_of(run.data, run.id)
    assert (after.run, after.state, len(after.steps)) == (run.id, "submitted", 2)
    assert [each.text for each in after.steps] == [each.text for each in before.steps]
    assert after.totals == before.totals
    logs = [ManifestLog(each.manifests) for each in (exported, run)]
    assert [*logs[0].read()] == [*logs[1].read()]
    assert (run.workspace / "output/a.txt").read_bytes() == b"second"
    assert (run.workspace / "b.txt").read_bytes() == b"kept"

    provider = LocalSandboxProvider(run.data)
    fork = fork_run(run, 1, provider.blobs, provider.create_workspace)
    assert (fork.workspace / "output/a.txt").read_bytes() == b"first"
    assert [len(each.steps) for each in open_recording(run.journal, run).rounds] == [2]


def test_a_journal_alone_is_a_run_without_files(exported: RunFolder, tmp_path: Path) -> None:
    run = imported(exported.journal.read_bytes(), tmp_path / "data", "journal.jsonl")
    assert len(state_of(run.data, run.id).steps) == 2
    assert not run.manifests.exists()
    assert [path for path in run.workspace.rglob("*") if path.is_file()] == []


def test_the_folder_of_the_command_line_has_the_results(
    exported: RunFolder, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    (results / "files/charts").mkdir(parents=True)
    (results / "files/charts/a.svg").write_text("<svg/>")
    shutil.copy(exported.journal, results)
    run = imported(results, tmp_path / "data")
    assert (run.workspace / "output/charts/a.svg").read_text() == "<svg/>"
    with pytest.raises(TraceError, match="is not an exported run"):
        import_file(results / "files", tmp_path / "data")


@pytest.mark.parametrize(
    ("at", "files"),
    [
        (0, {"input/kept.txt"}),
        (1, {"input/kept.txt", "output/plan.txt"}),
        (2, {"input/kept.txt", "output/plan.txt", "output/answer.txt", "input/edited.txt"}),
    ],
)
def test_a_fork_of_that_folder_has_nothing_that_later_steps_have_written(
    tmp_path: Path, at: int, files: set[str]
) -> None:
    def changes(*changed: str) -> list[FileChange]:
        return [FileChange(path, "added") for path in changed]

    events = [
        started("Plan it.", inputs=("kept.txt", "edited.txt")),
        *step(1, bash("ls"), changes=changes("output/plan.txt", "output/answer.txt")),
        *step(2, bash("ls"), changes=changes("output/answer.txt", "input/edited.txt")),
        ended(answer="42"),
    ]
    journal = tmp_path / "results/journal.jsonl"
    for path in ("input/kept.txt", "input/edited.txt", "output/plan.txt", "output/answer.txt"):
        file = tmp_path / "results/files" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("42")
    journal.write_bytes(b"".join(encode(event) + b"\n" for event in events))
    run = imported(tmp_path / "results", tmp_path / "data")
    provider = LocalSandboxProvider(run.data)
    about = describe_fork(run, at, provider.blobs)
    assert (about.versions, about.files) == (False, len(files))
    fork = fork_run(run, at, provider.blobs, provider.create_workspace)
    found = {path.relative_to(fork.workspace).as_posix() for path in fork.workspace.rglob("*.txt")}
    assert found == files


def test_ids_of_other_runs_and_sandboxes_are_replaced(exported: RunFolder, tmp_path: Path) -> None:
    """Deleting the run deletes its sandboxes, so it must not name those of others."""
    run = imported(exported.journal.read_bytes(), tmp_path / "data", "journal.jsonl")
    events = events_of(run.data, run.id)
    assert [each.run for each in of_type(RunStarted, events)] == [run.id]
    assert [each.sandbox for each in of_type(SandboxReady, events)] == [run.sandbox]
    assert run_sandbox_ids(run.data, run.id) == {run.sandbox}


def test_a_version_has_only_a_content_that_comes_with_it(
    exported: RunFolder, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    secret, _ = BlobStore(data / "blobs").put(io.BytesIO(b"of another user"), limit=100)
    lines = [json.loads(line) for line in exported.manifests.read_bytes().splitlines()]
    lines[0]["changed"]["b.txt"]["hash"] = secret
    lines[0]["changed"]["../../escape"] = lines[0]["changed"]["b.txt"]
    exported.manifests.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with zipfile.ZipFile(tmp_path / "edited.zip", "w") as archive:
        archive.write(exported.journal, "journal.jsonl")
        archive.write(exported.manifests, "manifests.jsonl")
    nodes = ManifestLog(imported(tmp_path / "edited.zip", data).manifests).manifest().nodes
    assert nodes.keys() == {"output/a.txt", "b.txt"}
    for node in nodes.values():
        assert (node.stored, node.hash, node.reason) == (False, None, "it is not in the export")


@pytest.mark.parametrize("name", ["files/../../escape", "files//etc/passwd", "files/a\0b"])
def test_a_path_outside_the_workspace_is_refused(
    exported: RunFolder, tmp_path: Path, name: str
) -> None:
    content = zip_of(exported, **{name.replace("\0", "Z"): b"x"}).replace(b"aZb", b"a\0b")
    if "\0" in name:  # zipfile itself ends a name there
        assert (imported(content, tmp_path / "data").workspace / "a").is_file()
    else:
        with pytest.raises(TraceError, match=r"run\.zip"):
            imported(content, tmp_path / "data")
        assert not list((tmp_path / "data").glob("runs/*"))
    assert not list(tmp_path.rglob("escape"))


def test_the_name_of_an_output_names_nothing_else(exported: RunFolder, tmp_path: Path) -> None:
    lines = exported.journal.read_bytes().splitlines()
    output = of_type(ToolOutput, map(decode, lines))[0]
    hostile = encode(replace(output, output_file="../run.json"))
    content = b"\n".join([*lines[:-1], hostile, lines[-1]]) + b"\n"
    run = imported(content, tmp_path / "data", "journal.jsonl")
    names = {each.output_file for each in of_type(ToolOutput, events_of(run.data, run.id))}
    assert names == {"", "0-missing.stdout"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"kind":"text_delta","step":1,"text":"a","at":1e300}', "line 2, at: a time"),
        (b'{"kind":"text_delta","text":"' + b"x" * MAX_LINE_BYTES, "line 2: more than 16"),
        (b'{"a":[' + b'["\\"[",{}],' * 50_000 + b"0]}", "line 2: more than 100,000 values"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    exported: RunFolder, tmp_path: Path, line: bytes, message: str
) -> None:
    first = exported.journal.read_bytes().splitlines()[0]
    with pytest.raises(TraceError, match=message):
        imported(first + b"\n" + line + b"\n", tmp_path / "data", "journal.jsonl")
    assert not list((tmp_path / "data").glob("runs/*"))


def member_of(name: str, content: bytes) -> bytes:
    """Return a zip file with a journal and one more member, which may be much smaller than it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("journal.jsonl", STARTED)
        archive.writestr(name, content)
    return out.getvalue()


STARTED = (
    encode(
        RunStarted(
            run="r", task="t", mode="sandbox", model="m", metered=True, prompt="", system="",
            user="t",
        )
    )
    + b"\n"
)  # fmt: skip


def test_brackets_in_texts_are_no_values(exported: RunFolder, tmp_path: Path) -> None:
    first = exported.journal.read_bytes().splitlines()[0]
    line = encode(TextDelta(step=1, text='[{"' * 200_000))
    imported(first + b"\n" + line + b"\n", tmp_path / "data", "journal.jsonl")


def test_versions_are_limited_in_lines_and_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_import, "MAX_PATHS", 100)
    monkeypatch.setattr(export, "MAX_LINES", 100)
    node = {"kind": "folder", "mode": 493}
    few = {"step": 1, "changed": {str(number): node for number in range(51)}, "removed": []}
    for content, message in (
        (json.dumps(few | {"removed": [str(number) for number in range(50)]}), "100 changed paths"),
        (f"{json.dumps(few)}\n{json.dumps(few)}", "line 2: more than 100 changed paths"),
        ('{"step": 1, "changed": {}, "removed": []}\n' * 101, "more than 100 lines"),
        (json.dumps(few | {"removed": ["x" * MAX_LINE_BYTES]}), "line 1: more than 16 MB"),
    ):
        with pytest.raises(TraceError, match=message):
            imported(member_of("manifests.jsonl", content.encode() + b"\n"), tmp_path / "data")
    assert not list((tmp_path / "data").glob("runs/*"))


def test_a_zip_file_is_limited_in_members_before_they_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = member_of("files/a", b"a")
    monkeypatch.setattr(zip_members, "MAX_DIRECTORY_BYTES", 80)  # 55 for each member's name
    with pytest.raises(TraceError, match="the zip file has too many members"):
        imported(content, tmp_path / "data")
    monkeypatch.undo()
    monkeypatch.setattr(export, "MAX_MEMBERS", 1)
    with pytest.raises(TraceError, match="more than 1 files"):
        imported(content, tmp_path / "data")


def test_a_zip_file_is_opened_once(
    exported: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = list[object]()

    class Counted(zipfile.ZipFile):
        def __init__(self, file: Any) -> None:
            opened.append(file)
            super().__init__(file)

    content = zip_of(exported, **{f"files/{number}": b"x" for number in range(20)})
    monkeypatch.setattr(zipfile, "ZipFile", Counted)
    assert (imported(content, tmp_path / "data").workspace / "19").read_bytes() == b"x"
    assert len(opened) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.zip", member_of("files/a", b"a")),
        ("journal.jsonl", STARTED),
        ("chat.jsonl", b'{"messages": [{"role": "user", "content": "Hello"}]}'),
    ],
)
def test_an_import_ends_with_its_client_and_after_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    asked = iter([False])  # from then on the client has left
    with pytest.raises(TraceError, match=f"{name}: the import was stopped"):
        import_file(file, tmp_path / "data", stopped=lambda: next(asked, True))
    clock = itertools.count(step=100.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with pytest.raises(TraceError, match=f"{name}: reading it takes more than 120 seconds"):
        import_file(file, tmp_path / "data")
    assert not list((tmp_path / "data").glob("runs/*"))
    assert not list((tmp_path / "data").glob("imports/*"))


def test_a_run_that_was_in_progress_has_ended(exported: RunFolder, tmp_path: Path) -> None:
    lines = exported.journal.read_bytes().splitlines(keepends=True)
    run = imported(b"".join(lines[:6]), tmp_path / "data", "journal.jsonl")
    state = state_of(run.data, run.id)
    assert (state.is_running, state.state) == (False, "failed")


def test_an_export_larger_than_the_space_is_refused(exported: RunFolder, tmp_path: Path) -> None:
    file = tmp_path / "run.zip"
    file.write_bytes(zip_of(exported, **{"files/large": bytes(100_000)}))
    with pytest.raises(TraceError, match="more space than your runs may still use"):
        import_file(file, tmp_path / "data", space=50_000)
    assert not list((tmp_path / "data").glob("runs/*"))
