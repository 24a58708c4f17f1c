"""The history: list entries, pagination, search, renaming and deletion of runs."""

import io
import math
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from gradio_client import Client

from agent.data_folder import DataFolder, candidate_folders
from agent.errors import RunError, SandboxError, StudioError
from agent.events import (
    Event,
    StepStarted,
    TextDelta,
    encode,
)
from agent.history import deletion
from agent.history.adopt_cli_runs import move_cli_runs
from agent.history.deletion import RunDeleter
from agent.history.index import History, HistoryEntry
from agent.history.records import RECORD_UNREADABLE, content_hashes
from agent.models import demonstration
from agent.owned_folder import MAX_TITLE
from agent.runs import journal as journals
from agent.runs.disk_usage import bytes_on_disk, run_sandbox_ids
from agent.runs.folder import RunFolder
from agent.runs.summary import MAX_NAMES, MAX_TEXT, Summary
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import Delta, ManifestLog, Node
from tests.support import httpx
from tests.support.component.events import bash, step
from tests.support.hostile.ordinary_user import NOBODY, as_ordinary_user
from tests.support.models.endpoint import Endpoint, ScriptedTurns, Turn
from tests.support.recorded_runs import (
    digest_of,
    read_run_json,
    remove_end,
    stored_hashes,
    write_ended_run,
)
from tests.support.server import follow_run, serve_studio, wait_until


def titles(history: History, words: str = "") -> list[str]:
    return [entry.title for entry in history.page(words).entries]


def all_pages(history: History, words: str = "", *, limit: int) -> list[HistoryEntry]:
    wait_until(lambda: not history.page(words).indexing)
    page = history.page(words, limit=limit)
    found = [*page.entries]
    while page.next:
        page = history.page(words, page.next, limit=limit)
        found += page.entries
    assert page.total == len(found)
    return found


# List entries


def test_a_demonstration_is_listed_under_its_title(tmp_path: Path) -> None:
    script = demonstration.load("journey")
    write_ended_run(tmp_path, script.task, model="Demonstration", metered=False)
    history = History(tmp_path)
    assert titles(history) == ["Map a journey"]
    assert titles(history, "map a journey") == ["Map a journey"]
    assert titles(history, "Ternøy receiver") == ["Map a journey"]


@pytest.mark.parametrize(
    ("task", "title"),
    [
        ("**Chart** the *whole* data", "Chart the whole data"),
        ("# Task: `sum` of __x__", "Task: sum of x"),
        ("- read my_big_file.txt and 2 * 3 * 4", "read my_big_file.txt and 2 * 3 * 4"),
        ("***", "***"),
        ("*" * 5000, "*" * MAX_TITLE),
    ],
)
def test_a_title_has_no_markdown(tmp_path: Path, task: str, title: str) -> None:
    write_ended_run(tmp_path, task)
    assert titles(History(tmp_path)) == [title]


def test_a_list_entry_describes_task_and_results(tmp_path: Path) -> None:
    files = {"output/b.png": b"p", "output/a.txt": b"t", "input/given.csv": b"c", "notes": b"n"}
    folder = write_ended_run(
        tmp_path, "Chart the data.\nIn blue.", answer="See b.png.", at=100.0, files=files
    )
    (entry,) = History(tmp_path).page().entries
    summary = entry.summary
    assert summary is not None
    assert (entry.run, entry.title, entry.renamed) == (folder.id, "Chart the data.", False)
    assert (entry.at, summary.seconds, summary.steps, summary.state) == (105.0, 5.0, 1, "submitted")
    assert (summary.model, summary.answer, summary.estimated) == ("test-model", "See b.png.", True)
    assert (summary.prompt_tokens, summary.generated_tokens) == (30_000, 1_500)
    assert summary.files == ("output/a.txt", "output/b.png", "notes", "input/given.csv")
    assert summary.images == ("output/b.png",)
    assert summary.workspace == bytes_on_disk(folder.sandbox_folder)
    blobs = (tmp_path / "blobs").glob("??/*")
    assert summary.versions == sum(path.stat().st_blocks * 512 for path in blobs)
    assert summary.size == bytes_on_disk(folder.path) + summary.workspace + summary.versions


def test_runs_are_sorted_by_last_activity(tmp_path: Path) -> None:
    write_ended_run(tmp_path, "old", at=1_000.0)
    write_ended_run(tmp_path, "new", at=2_000.0)
    assert titles(History(tmp_path)) == ["new", "old"]
    write_ended_run(tmp_path, "gone on with", at=10.0, messages=("first", "second") * 15)
    assert titles(History(tmp_path)) == ["gone on with", "new", "old"]


def test_drafts_and_stray_folders_are_not_listed(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, "sandbox")
    (tmp_path / "runs" / "not a run").mkdir()
    assert History(tmp_path).page().total == 0


def test_a_list_is_paginated_without_duplicates(tmp_path: Path) -> None:
    for number in range(7):
        write_ended_run(tmp_path, str(number), at=1_000.0 + number // 2)  # some at the same moment
    history = History(tmp_path)
    found = [entry.title for entry in all_pages(history, limit=3)]
    assert sorted(found) == list("0123456")
    with pytest.raises(StudioError, match="not a cursor"):
        history.page(cursor="yesterday")


def test_a_summary_is_refreshed_when_the_journal_grows(tmp_path: Path) -> None:
    folder = write_ended_run(tmp_path, "t")
    history = History(tmp_path)
    for steps in (1, 2):
        (entry,) = history.page().entries
        assert entry.summary
        assert entry.summary.steps == steps
        with folder.journal.open("ab") as file:
            file.write(encode(StepStarted(step=2, note="")) + b"\n")


def test_a_journal_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [write_ended_run(tmp_path, str(number), at=float(number)) for number in range(30)]
    read: list[Path] = []
    original = journals.read

    def recorded(path: Path) -> Iterator[tuple[int, Event]]:
        read.append(path)
        return original(path)

    monkeypatch.setattr(journals, "read", recorded)
    assert len(History(tmp_path).page(limit=10).entries) == 10
    assert sorted(read) == sorted(folder.journal for folder in folders)
    read.clear()
    folders[-1].set_title("Named")
    folders[-2].set_pinned(True)
    assert titles(History(tmp_path))[:2] == ["Named", "28"]
    assert titles(History(tmp_path), "named") == ["Named"]
    assert History(tmp_path).page(pinned=True).total == 1
    assert read == []


def test_a_summary_stays_small(tmp_path: Path) -> None:
    files = {f"output/{number}.png": b"" for number in range(MAX_NAMES + 50)}
    write_ended_run(tmp_path, "x" * 10**6, answer="y" * 10**6, messages=("z" * 10**6,), files=files)
    (entry,) = History(tmp_path).page().entries
    summary = entry.summary
    assert summary is not None
    assert (len(summary.task), len(summary.answer), len(summary.messages)) == (MAX_TEXT,) * 3
    assert (len(entry.title), len(summary.files)) == (MAX_TITLE, MAX_NAMES)
    assert len(summary.images) == 3


# Searching


def test_search_covers_every_field(tmp_path: Path) -> None:
    write_ended_run(tmp_path, "something else")
    write_ended_run(
        tmp_path, "Lake survey", answer="Mostly trout. Ein GROẞER Fisch.", model="Qwen3",
        messages=("And later?",), files={"output/fish.csv": b""},
    )  # fmt: skip
    history = History(tmp_path)
    for words in ("lake survey", "SURVEY", "trout", "later", "Qwen", "fish.csv", "großer",
                  "lake qwen", "ＬＡＫＥ"):  # fmt: skip
        assert titles(history, words) == ["Lake survey"], words


def test_search_requires_all_words_and_includes_the_title(tmp_path: Path) -> None:
    folder = write_ended_run(tmp_path, "Lake survey")
    history = History(tmp_path)
    assert titles(history, "lake mountain") == []
    folder.set_title("Mountain")
    history.indexer.changed(folder.id)
    assert titles(history, "lake mountain") == ["Mountain"]
    assert titles(history, "   ") == ["Mountain"]


def test_a_match_outside_the_title_has_an_excerpt(tmp_path: Path) -> None:
    write_ended_run(tmp_path, "Survey", answer="On the one hand. " * 5 + "The trout\nis a fish.")
    history = History(tmp_path)
    assert history.page("survey").entries[0].excerpt == ""
    found = history.page("trout").entries[0].excerpt
    assert "The trout" in found
    assert found.startswith("…")


def write_steps(data: Path, task: str, events: Iterable[Event]) -> RunFolder:
    """Write an ended run with these events instead of its step."""
    folder = write_ended_run(data, task)
    lines = folder.journal.read_bytes().splitlines(keepends=True)
    lines[2:5] = [encode(event) + b"\n" for event in events]
    folder.journal.write_bytes(b"".join(lines))
    return folder


def test_everything_in_a_run_is_found_with_its_place(tmp_path: Path) -> None:
    write_ended_run(tmp_path, "Another run")
    call = bash("grep -c guillemot", "first\n17 razorbills\nlast")
    write_steps(tmp_path, "Count", step(1, call, reasoning="Maybe cormorants?"))
    history = History(tmp_path)
    for words, line in (
        ("CORMORANT", "Maybe cormorants?"),
        ("c guillemot", "grep -c guillemot"),
        ("razorbill count", "17 razorbills"),
    ):
        (entry,) = history.page(words).entries
        assert (entry.title, entry.excerpt) == ("Count", line)
        assert entry.match is not None
        assert (entry.match.part, entry.match.round, entry.match.step) == ("step", 1, 1)
        assert entry.word in line.lower()
    assert history.page("it is done", limit=9).total == 2
    (entry,) = history.page("another done").entries
    assert entry.match is not None
    assert entry.match.part == "answer"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("東京の天気", ["東", "東京", "天気", "の天気", "気"]),
        ("Go, R and C#", ["go", "c#", "o, r", "c", "#"]),
        ("naïve café", ["ïv", "CAFÉ", "é", "café naïve"]),
        ("ΣΊΣΥΦΟΣ", ["σίσυφοσ", "σίσυφος", "ΟΣ"]),
        ("a 'quoted' \"text\" AND NOT (x OR y)*^:-{}", [
            '"text"', "'quoted'", "and not", "(x", "y)*^:-{}", '"', "*", "^:",
        ]),
        ("ends with 🦆", ["🦆", "with 🦆"]),
    ],
)  # fmt: skip
def test_any_part_of_a_word_is_found(tmp_path: Path, text: str, words: list[str]) -> None:
    write_ended_run(tmp_path, "Another run about nothing")
    folder = write_ended_run(tmp_path, text)
    history = History(tmp_path)
    for query in words:
        found = [entry.run for entry in history.page(query).entries]
        assert folder.id in found, query
        assert len(found) == 1 or len(query) == 1


@pytest.mark.parametrize(
    "query",
    [
        '"', '""', '"""', "'", "AND", "OR OR", "NOT", "NEAR(a b)", "*", "a*", "^a", "text:a", "{",
        "(", ")", "\0", "a\0b", "%", "_", "\\", "x" * 100_000, "a " * 5_000, "\ud800", "-", "+",
        ":", ";--", "'); DROP TABLE runs; --", "\u202e", "İ", "ﬁ", "\n\n", "xyzzy qq", "qq",
    ],
    ids=lambda query: repr(query[:12]),
)  # fmt: skip
def test_no_query_breaks_the_search(tmp_path: Path, query: str) -> None:
    write_ended_run(tmp_path, "Lake survey")
    history = History(tmp_path)
    assert history.page(query).total in (0, 1)
    assert titles(history) == ["Lake survey"]


def test_only_the_owners_runs_are_searched(tmp_path: Path) -> None:
    for owner in ("u:ann", "u:bob", ""):
        write_ended_run(tmp_path, f"Secret of {owner}", owner=owner)
    history = History(tmp_path)
    for owner in ("u:ann", "u:bob", ""):
        for words in ("secret", "", "se", "done"):
            page = history.page(words, owner=owner)
            assert [entry.owner for entry in page.entries] == [owner]
            assert page.total == 1
        assert history.totals(owner).count == 1
        assert {run.owner for run in history.largest(9, owner)} == {owner}
    assert history.page("bob", owner="u:ann").total == 0
    assert history.page("secret").total == 3


def test_runs_with_the_words_in_their_titles_come_first(tmp_path: Path) -> None:
    for number in range(6):
        task = "Count terns" if number % 2 else "Count gulls"
        write_ended_run(tmp_path, task, answer="No terns.", at=1_000.0 + number)
    found = all_pages(History(tmp_path), "terns", limit=2)
    assert [each.at for each in found] == [1010.0, 1008.0, 1006.0, 1009.0, 1007.0, 1005.0]
    assert [each.title for each in found] == ["Count terns"] * 3 + ["Count gulls"] * 3


def test_of_a_long_run_a_limited_text_is_indexed(tmp_path: Path) -> None:
    output = "first " + "x" * 60_000 + " middle " + "y" * 60_000 + " last"
    write_steps(tmp_path, "Count", [*step(1), *[TextDelta(step=1, text=output)] * 3])
    history = History(tmp_path)
    assert [history.page(word).total for word in ("first", "middle", "last")] == [1, 0, 1]
    assert (tmp_path / "history.sqlite").stat().st_size < 400_000


# Titles


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("  A title ", "A title"),
        ("two\nlines\tand tabs", "two lines and tabs"),
        ("<b>&amp;</b>", "<b>&amp;</b>"),
        ("\u202eright to left", "\u202eright to left"),
        ("nul\x00 and \x1b[31m and \ud800", "nul and [31m and"),
        ("x" * 10_000, "x" * MAX_TITLE),
        ("", ""),
    ],
)
def test_a_title_is_one_line(tmp_path: Path, given: str, kept: str) -> None:
    folder = write_ended_run(tmp_path, "The task")
    folder.set_title(given)
    assert RunFolder.open(tmp_path, folder.id).title == kept
    assert titles(History(tmp_path)) == [kept or "The task"]
    assert read_run_json(folder)["used"] is True


def test_a_record_of_another_version_is_read_as_far_as_possible(tmp_path: Path) -> None:
    folder = write_ended_run(tmp_path, "The task")
    (folder.path / "run.json").write_text(
        f'{{"created": 1, "sandbox": "{folder.sandbox}", "to_come": 1}}'
    )
    assert titles(History(tmp_path)) == ["The task"]


# Pinned runs


@pytest.mark.contract
def test_pinned_runs_are_listed_and_not_deleted(client: httpx.Client, tmp_path: Path) -> None:
    pinned, other = write_ended_run(tmp_path, "Keep this"), write_ended_run(tmp_path, "Not this")
    answer = client.patch(f"/api/runs/{pinned.id}", json={"pinned": True})
    assert answer.json() == {"pinned": True}
    assert RunFolder.open(tmp_path, pinned.id).pinned
    assert [row["title"] for row in list_runs(client, pinned="1")] == ["Keep this"]
    both = {"run": [other.id, pinned.id]}
    refusal = client.delete("/api/runs", params=both)
    assert refusal.status_code == 409
    assert "“Keep this” is pinned" in refusal.json()["error"]
    pins = {row["title"]: row["pinned"] for row in list_runs(client)}
    assert pins == {"Keep this": True, "Not this": False}
    client.patch(f"/api/runs/{pinned.id}", json={"pinned": False, "title": "Let go"})
    assert list_runs(client, pinned="1") == []
    client.delete("/api/runs", params=both).raise_for_status()
    assert list_runs(client) == []


@pytest.mark.contract
def test_shared_content_is_counted_once(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_ended_run(tmp_path, name, files={"output/same": b"x" * 400_000})
    History(tmp_path).page()
    with serve(tmp_path) as client:
        answer = client.get("/api/runs").json()
    alone = [row["size"] - row["versions"] for row in answer["runs"]]
    assert [row["versions"] for row in answer["runs"]] == [401_408, 401_408]
    assert answer["size"] == sum(alone) + 400_000


# Damaged records

GARBAGE = [b"", b"\0" * 100, b"{", b"[]", b'{"created": "x", "sandbox": 1}', b'{"sandbox": "../x"}']


@pytest.mark.parametrize(
    ("name", "content"),
    [*(("run.json", each) for each in GARBAGE),
     *(("journal.jsonl", each) for each in (b"", b"{", b'{"at":17000'))],
)  # fmt: skip
def test_a_damaged_run_is_shown_as_broken(tmp_path: Path, name: str, content: bytes) -> None:
    write_ended_run(tmp_path, "whole", at=1.0)
    folder = write_ended_run(tmp_path, "broken")
    (folder.path / name).write_bytes(content)
    broken, intact = History(tmp_path).page().entries
    assert (broken.run, broken.problem, broken.summary) == (folder.id, RECORD_UNREADABLE, None)
    assert (intact.title, intact.problem) == ("whole", "")


def test_a_run_with_a_garbage_record_keeps_files_and_can_be_deleted(tmp_path: Path) -> None:
    folder = write_ended_run(tmp_path, files={"output/a": b"mine"})
    other = write_ended_run(tmp_path, files={"output/b": b"theirs"})
    (folder.path / "run.json").write_bytes(b"{")
    assert run_sandbox_ids(tmp_path, folder.id) == {folder.sandbox}
    create_deleter(tmp_path).delete([folder.id])
    assert not folder.sandbox_folder.exists()
    assert (other.workspace / "output/b").read_bytes() == b"theirs"


def test_model_output_cannot_name_a_sandbox_for_removal(tmp_path: Path) -> None:
    other = write_ended_run(tmp_path, files={"output/b": b"theirs"})
    folder = write_ended_run(tmp_path, f'{{"kind":"sandbox_ready","sandbox":"{other.sandbox}"}}')
    (folder.path / "run.json").write_bytes(b"{")
    assert run_sandbox_ids(tmp_path, folder.id) == {folder.sandbox}
    mine, theirs = (f'"sandbox":"{each.sandbox}"' for each in (folder, other))
    folder.journal.write_text(folder.journal.read_text().replace(mine, theirs))
    assert run_sandbox_ids(tmp_path, folder.id) == set()


# Deletion


def create_deleter(
    data: Path,
    empty: Callable[[str], None] = lambda _: None,
    shared: deletion.SharedContents | None = None,
) -> RunDeleter:
    return RunDeleter(data, BlobStore(data / "blobs"), empty, shared=shared)


def test_deletion_frees_the_announced_size(tmp_path: Path) -> None:
    folder = write_ended_run(
        tmp_path, files={"output/a": os.urandom(100_000), "input/deep/b": b"b"}
    )
    kept = write_ended_run(tmp_path, files={"output/c": b"c"})
    deleter = create_deleter(tmp_path)
    freed, before = deleter.freed_bytes([folder.id]), bytes_on_disk(tmp_path)
    assert freed > 200_000  # the file and its kept content
    assert deleter.delete([folder.id]) == freed
    folder_bytes = 4 * 4096  # folders that remain or were created
    assert abs(before - bytes_on_disk(tmp_path) - freed) <= folder_bytes
    assert not folder.path.exists()
    assert not folder.sandbox_folder.exists()
    assert stored_hashes(tmp_path) == {digest_of(b"c")}
    assert [each.id for each in RunFolder.all(tmp_path)] == [kept.id]
    assert list((tmp_path / "deleted").iterdir()) == []


def test_content_is_kept_until_no_run_has_it(tmp_path: Path) -> None:
    first = write_ended_run(tmp_path, files={"output/a": b"shared", "output/b": b"first's"})
    runs = [write_ended_run(tmp_path, files={"output/c": b"shared"}).id for _ in range(3)]
    deleter = create_deleter(tmp_path)
    deleter.delete([first.id])
    assert stored_hashes(tmp_path) == {digest_of(b"shared")}
    assert deleter.freed_bytes(runs) > sum(deleter.freed_bytes([run]) for run in runs)
    assert deleter.delete(runs) > 0
    assert stored_hashes(tmp_path) == set()


@pytest.mark.parametrize("others", [1, 20])
def test_a_deletion_reads_the_manifests_of_runs_that_are_not_indexed_only(
    tmp_path: Path, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *rest = (
        write_ended_run(tmp_path, files={"a": b"shared", "b": b"%d" % number})
        for number in range(1 + others)
    )
    history = History(tmp_path)
    deleter = create_deleter(tmp_path, shared=history.shared_contents)
    read = Mock(wraps=content_hashes)
    monkeypatch.setattr(deletion, "content_hashes", read)
    assert deleter.freed_bytes([first.id])  # not everything is indexed yet
    while history.indexer.backlog:
        history.indexer.update()
    draft = RunFolder.create(tmp_path, "s")
    draft.manifests.write_bytes(rest[-1].manifests.read_bytes())
    read.reset_mock()
    deleter.delete([first.id])
    paths = {call.args[0] for call in read.call_args_list}
    assert paths == {tmp_path / "deleted" / first.id, draft.path}
    assert digest_of(b"shared") in stored_hashes(tmp_path)
    deleter.delete([each.id for each in rest])
    assert stored_hashes(tmp_path) == {digest_of(b"shared"), digest_of(b"%d" % others)}


def test_content_is_kept_if_other_manifests_are_unreadable(tmp_path: Path) -> None:
    first = write_ended_run(tmp_path, files={"output/a": b"shared"})
    second = write_ended_run(tmp_path, files={"output/a": b"shared"})
    second.manifests.write_bytes(b"garbage " + second.manifests.read_bytes()[:-9])
    (second.path / "run.json").write_bytes(b"")
    assert create_deleter(tmp_path).delete([first.id]) > 0
    assert stored_hashes(tmp_path) == {digest_of(b"shared")}


def test_deletion_does_not_follow_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"x" * 50_000)
    folder = write_ended_run(tmp_path / "data", files={"output/a": b"a"})
    (folder.workspace / "output" / "out").symlink_to(outside)
    (folder.workspace / "file").symlink_to(outside / "precious")
    assert create_deleter(tmp_path / "data").delete([folder.id]) < 50_000
    assert (outside / "precious").stat().st_size == 50_000
    assert not folder.sandbox_folder.exists()


def test_a_tree_of_any_depth_is_removed(tmp_path: Path) -> None:
    folder = write_ended_run(tmp_path)
    folder_fd = os.open(folder.workspace, os.O_RDONLY)
    for _ in range(3_000):
        os.mkdir("d", dir_fd=folder_fd)
        subfolder_fd = os.open("d", os.O_RDONLY, dir_fd=folder_fd)
        os.close(folder_fd)
        folder_fd = subfolder_fd
    os.close(folder_fd)
    create_deleter(tmp_path).delete([folder.id])
    assert not folder.sandbox_folder.exists()


def test_an_interrupted_deletion_is_finished_at_the_next_start(tmp_path: Path) -> None:
    folder = write_ended_run(tmp_path, files={"output/a": b"mine"})
    (tmp_path / "deleted").mkdir()
    folder.path.rename(tmp_path / "deleted" / folder.id)
    create_deleter(tmp_path).delete_leftovers()
    assert list((tmp_path / "deleted").iterdir()) == []
    assert stored_hashes(tmp_path) == set()


@pytest.mark.contract
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what another may not remove")
def test_files_of_root_are_removed_in_the_sandbox_or_the_run_is_kept(tmp_path: Path) -> None:
    folder = write_ended_run(tmp_path, files={"output/mine/a": b"a"})
    for path in (tmp_path, *tmp_path.rglob("*")):
        if path.name != "mine":
            os.chown(path, NOBODY, NOBODY)
    for above in tmp_path.parents:
        if above.stat().st_mode & 0o5 != 0o5 and above.owner() == "root":
            above.chmod(above.stat().st_mode | 0o5)

    def without_engine(_: str) -> None:
        raise SandboxError("There is no engine.")

    def as_root(_: str) -> None:
        """Remove it in a child process, which regains root's rights."""
        subprocess.run(["rm", "-r", folder.workspace / "output" / "mine"], check=True)

    with as_ordinary_user():
        with pytest.raises(RunError, match="cannot be removed"):
            create_deleter(tmp_path, without_engine).delete([folder.id])
        assert RunFolder.open(tmp_path, folder.id).id == folder.id
        assert (folder.workspace / "output/mine/a").exists()
        create_deleter(tmp_path, as_root).delete([folder.id])
    assert not folder.sandbox_folder.exists()


# Concurrent use of shared content


def test_content_stored_during_deletion_is_kept(tmp_path: Path) -> None:
    write_ended_run(tmp_path, files={"output/a": b"shared"})
    store, kept = BlobStore(tmp_path / "blobs"), digest_of(b"shared")

    def unreferenced_hashes() -> set[str]:
        with store.protected():
            store.put(io.BytesIO(b"shared"), limit=100)
        return {kept, digest_of(b"other")}

    assert store.collect_garbage(unreferenced_hashes) == 0
    with store.protected():  # a manifest will refer to it
        store.put(io.BytesIO(b"shared"), limit=100)
        assert store.collect_garbage(lambda: [kept]) == 0
    assert stored_hashes(tmp_path) == {kept}
    assert store.collect_garbage(lambda: [kept]) > 0
    assert (stored_hashes(tmp_path), store.size) == (set(), 0)


def test_concurrent_recording_and_deletion_lose_no_content(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")
    deleter = RunDeleter(tmp_path, store, lambda _: None)
    words = [f"content {number}".encode() for number in range(12)]
    files = {f"output/{word.decode()}": word for word in words}
    deleted_runs = [write_ended_run(tmp_path, files=files) for _ in range(40)]
    alive = [write_ended_run(tmp_path) for _ in range(3)]
    done = threading.Event()

    def record(folder: RunFolder) -> None:
        versions = ManifestLog(folder.manifests)
        for number in range(1, 401):
            if done.is_set():
                return
            word = words[number % len(words)]
            with store.protected():
                digest, _ = store.put(io.BytesIO(word), limit=100)
                node = Node("file", len(word), 0o644, digest)
                versions.append(number, Delta({f"output/{number % 50}": node}))

    with ThreadPoolExecutor() as pool:
        writers = [pool.submit(record, folder) for folder in alive]
        for folder in deleted_runs:
            deleter.delete([folder.id])
        done.set()
        for writer in writers:
            writer.result()
    for folder in alive:
        deltas = [delta for _, delta in ManifestLog(folder.manifests).read()]
        hashes = {node.hash for delta in deltas for node in delta.changed.values()}
        assert hashes
        assert hashes <= stored_hashes(tmp_path)


# Runs of the command line, made while the page held the data folder


@pytest.fixture
def cli_data(tmp_path: Path) -> Path:
    """A data folder of the command line within the page's data folder."""
    cli_folder = candidate_folders(tmp_path)[1]
    cli_folder.mkdir(parents=True)
    return cli_folder


def test_command_line_runs_are_adopted_completely(tmp_path: Path, cli_data: Path) -> None:
    folder = write_ended_run(cli_data, "by hand", files={"output/a": b"made", "output/b": b"known"})
    store = BlobStore(tmp_path / "blobs")
    store.put(io.BytesIO(b"known"), limit=100)
    move_cli_runs(tmp_path, store)
    home = RunFolder.open(tmp_path, folder.id)
    assert titles(History(tmp_path)) == ["by hand"]
    assert (home.workspace / "output/a").read_bytes() == b"made"
    assert stored_hashes(tmp_path) == {digest_of(b"made"), digest_of(b"known")}
    assert store.size == len(b"made") + len(b"known")
    assert not folder.path.exists()
    move_cli_runs(tmp_path, store)


@pytest.mark.parametrize("parent", ["comparisons", "evaluations"])
def test_what_the_command_line_started_is_adopted_with_all_of_its_runs(
    tmp_path: Path, cli_data: Path, parent: str
) -> None:
    (cli_data / parent / "both-runs").mkdir(parents=True)
    runs = [write_ended_run(cli_data, f"run {number}") for number in range(2)]
    for each in runs:
        each._update(comparison="both-runs")
    content = runs[1].journal.read_bytes()
    remove_end(runs[1])
    move_cli_runs(tmp_path, BlobStore(tmp_path / "blobs"))
    assert not (tmp_path / parent).exists()
    assert RunFolder.all(cli_data), "the ended run was taken away from the others"
    assert not list(RunFolder.all(tmp_path))
    runs[1].journal.write_bytes(content)
    move_cli_runs(tmp_path, BlobStore(tmp_path / "blobs"))
    assert (tmp_path / parent / "both-runs").is_dir()
    assert {each.id for each in RunFolder.all(tmp_path)} == {each.id for each in runs}


def test_locked_folders_and_active_runs_are_not_adopted(tmp_path: Path, cli_data: Path) -> None:
    store = BlobStore(tmp_path / "blobs")
    folder = write_ended_run(cli_data, "in progress")
    with DataFolder(cli_data):
        move_cli_runs(tmp_path, store)
    assert titles(History(tmp_path)) == []
    remove_end(folder)
    move_cli_runs(tmp_path, store)
    assert titles(History(tmp_path)) == []
    move_cli_runs(tmp_path, store, ended=False)
    assert titles(History(tmp_path)) == ["in progress"]


# Over HTTP


@pytest.fixture
def script() -> ScriptedTurns:
    return ScriptedTurns()


@contextmanager
def serve(data: Path, **settings: Any) -> Iterator[httpx.Client]:
    """Serve a data folder; yields a client."""
    with (
        serve_studio(data, **settings) as studio_url,
        httpx.Client(base_url=studio_url, timeout=30) as client,
    ):
        yield client


@pytest.fixture
def client(tmp_path: Path, script: ScriptedTurns) -> Iterator[httpx.Client]:
    with (
        Endpoint(script) as endpoint,
        serve(tmp_path, base_url=endpoint.url, model="test-model") as client,
    ):
        yield client


def list_runs(client: httpx.Client, **params: str) -> list[dict[str, Any]]:
    answer = client.get("/api/runs", params=params)
    rows: list[dict[str, Any]] = answer.raise_for_status().json()["runs"]
    return rows


@pytest.mark.contract
def test_a_run_is_listed_while_active_and_after_its_end(
    client: httpx.Client, script: ScriptedTurns
) -> None:
    script.turns = [Turn(calls=[("execute_bash", {"command": "touch output/up.png; sleep 60"})])]
    program = Client(str(client.base_url), verbose=False)
    run = program.predict("Wait a while", api_name="/start")
    wait_until(lambda: list_runs(client)[0]["state"] == "running_tool")
    (row,) = list_runs(client)
    assert (row["run"], row["title"], row["running"]) == (run, "Wait a while", True)
    assert client.delete(f"/api/runs/{run}").status_code == 409
    assert "Stop it first" in client.delete(f"/api/runs/{run}").json()["error"]
    assert client.get(f"/api/runs/{run}/files").status_code == 200
    program.predict(run, api_name="/stop")
    wait_until(lambda: list_runs(client)[0]["state"] == "stopped")
    (row,) = list_runs(client)
    assert (row["running"], row["images"]) == (False, ["output/up.png"])
    assert row["size"] > 0


@pytest.mark.contract
def test_renaming_a_run_notifies_its_followers_and_other_changes_are_refused(
    client: httpx.Client, tmp_path: Path
) -> None:
    folder = write_ended_run(tmp_path, "The task")
    answer = client.patch(f"/api/runs/{folder.id}", json={"title": " A\nname "})
    assert answer.json() == {"title": "A name"}
    (row,) = list_runs(client)
    assert (row["title"], row["renamed"]) == ("A name", True)
    with follow_run(client, folder.id) as stream:
        assert next(stream).data["title"] == "A name"
    answer = client.patch(f"/api/runs/{folder.id}", json={"title": ""})
    assert answer.json() == {"title": "The task"}
    for body in (b"", b"{", b'{"title": 1}', b'["title"]', b"{}", b'{"pinned": 1}',
                 b'{"pinned": "yes"}', b'{"pinned": null}'):  # fmt: skip
        assert client.patch(f"/api/runs/{folder.id}", content=body).status_code == 400, body
    assert not RunFolder.open(tmp_path, folder.id).pinned
    assert client.patch("/api/runs/nosuchrun1", json={"title": "x"}).status_code == 404


@pytest.mark.contract
def test_the_freed_size_is_shown_before_deletion(client: httpx.Client, tmp_path: Path) -> None:
    first, second, third = (
        write_ended_run(tmp_path, name, files={f"output/{name}": os.urandom(50_000)})
        for name in "abc"
    )
    reclaimable = client.get("/api/space", params={"run": first.id}).json()["reclaimable"]
    assert client.delete(f"/api/runs/{first.id}").json() == {"freed": reclaimable}
    assert client.get(f"/api/runs/{first.id}/files").status_code == 404
    assert client.delete(f"/api/runs/{first.id}").status_code == 404
    both = {"run": [second.id, third.id]}
    reclaimable = client.get("/api/space", params=both).json()["reclaimable"]
    assert client.delete("/api/runs", params=both).json() == {"freed": reclaimable}
    assert list_runs(client) == []
    assert client.delete("/api/runs").status_code == 404


@pytest.mark.contract
def test_only_runs_can_be_deleted(client: httpx.Client, tmp_path: Path) -> None:
    write_ended_run(tmp_path)
    before = sorted(tmp_path.glob("[!h]*"))  # without the database
    for run in ("..", "%2e%2e", "..%2f..", "a", "nosuchrun1", "x" * 5000):
        client.delete(f"/api/runs/{run}")
        client.delete("/api/runs", params={"run": run})
        assert len(list_runs(client)) == 1
        assert sorted(tmp_path.glob("[!h]*")) == before


@pytest.mark.contract
def test_deletion_ends_the_streams_of_followers(client: httpx.Client, tmp_path: Path) -> None:
    folder = write_ended_run(tmp_path, files={"output/a": b"a"})
    with follow_run(client, folder.id) as stream:
        assert next(stream).name == "state"
        client.delete(f"/api/runs/{folder.id}").raise_for_status()
        assert {each.name for each in stream} <= {"workspace", "steering"}
    assert client.get(f"/api/runs/{folder.id}/events").status_code == 404


@pytest.mark.contract
def test_an_invalid_limit_is_refused(client: httpx.Client) -> None:
    for limit in ("0", "-1", "x", "201", "9" * 50, ""):
        answer = client.get("/api/runs", params={"limit": limit})
        assert (answer.status_code, "limit" in answer.json()["error"]) == (400, True), limit


@pytest.mark.contract
def test_runs_are_listed_by_the_gradio_api(client: httpx.Client, tmp_path: Path) -> None:
    write_ended_run(tmp_path, "Lake survey")
    write_ended_run(tmp_path, "Another")
    program = Client(str(client.base_url), verbose=False)
    assert [row["title"] for row in program.predict("survey", api_name="/runs")] == ["Lake survey"]


@pytest.mark.contract
def test_everything_survives_a_restart(tmp_path: Path) -> None:
    runs = [
        write_ended_run(tmp_path, f"task {number}", at=1_000.0 * number, files={"output/a": b"a"})
        for number in range(1, 4)
    ]
    remove_end(runs[0])
    rows: list[list[dict[str, Any]]] = []
    for _ in range(2):
        with serve(tmp_path) as client:
            rows.append(list_runs(client))
            assert client.get(f"/api/runs/{rows[0][0]['run']}/files/output/a").content == b"a"
    assert rows[0] == rows[1]
    assert [row["title"] for row in rows[0]] == ["task 3", "task 2", "task 1"]
    interrupted = rows[0][-1]  # ends at its last event
    found = (interrupted["state"], interrupted["seconds"], interrupted["at"])
    assert found == ("failed", 4.0, 1_004.0)


@pytest.mark.contract
def test_an_unreadable_folder_does_not_prevent_startup(tmp_path: Path) -> None:
    write_ended_run(tmp_path, "whole")
    unreadable = write_ended_run(tmp_path, "odd")
    unreadable.journal.unlink()
    unreadable.journal.mkdir()
    with serve(tmp_path) as client:
        assert {row["error"] for row in list_runs(client)} == {"", RECORD_UNREADABLE}
        client.delete(f"/api/runs/{unreadable.id}").raise_for_status()
        assert [row["title"] for row in list_runs(client)] == ["whole"]


def test_the_sums_are_those_of_the_runs_after_every_change(tmp_path: Path) -> None:
    active: dict[str, Summary | None] = {}
    history = History(tmp_path, lambda: active)
    runs = [
        write_ended_run(tmp_path, str(n), files={"output/a": b"x" * 9_000 * n}, owner=f"u:{n % 2}")
        for n in range(6)
    ]

    def check(count: int) -> None:
        history.indexer.update(runs=9)
        assert history.totals().count == count
        assert history.size_by_owner().keys() == {run.owner for run in history.largest(9)}
        for owner, (number, size) in history.size_by_owner().items():
            each, totals = history.largest(9, owner), history.totals(owner)
            assert (totals.count, totals.size) == (number, size)
            assert size == sum(run.size for run in each)
            assert totals.workspace == sum(run.workspace for run in each)
            assert totals.pinned == sum(run.pinned for run in each)
            assert totals.running == sum(run.running for run in each)

    check(6)
    stored = history.summaries([runs[1].id])[runs[1].id]
    assert stored is not None
    runs[0].set_pinned(True)
    history.indexer.changed(runs[0].id)
    check(6)
    assert history.totals("u:0").pinned == 1
    active[runs[1].id] = None  # it is starting its next round
    check(5)
    active[runs[1].id] = replace(stored, running=True, size=7, workspace=7)
    assert history.totals("u:1").running == 1
    check(6)
    active.clear()
    for run in runs[1::2]:
        shutil.rmtree(run.path)
        history.indexer.changed(run.id)
    check(3)
    assert list(history.size_by_owner()) == ["u:0"]


def test_runs_that_are_reported_are_read_without_listing_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(tmp_path)
    write_ended_run(tmp_path, "the first")
    assert titles(history) == ["the first"]
    history.indexer._next_listing = math.inf
    monkeypatch.setattr(RunFolder, "ids", lambda _: pytest.fail("all runs were listed"))
    for number in range(20):
        history.indexer.changed(write_ended_run(tmp_path, f"task {number}").id)
        history.indexer.update(at_once=False)
    assert history.totals().count == 21
