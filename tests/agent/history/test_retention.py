"""How long runs are kept, and what never goes by itself."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent import prompts
from agent.errors import RunError
from agent.events import RunEnded
from agent.history.index import History, HistoryEntry
from agent.history.retention import GRACE_SECONDS, Retention, select_expired
from agent.limits import Limits
from agent.models.base import ToolCall
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.recorder import Task
from agent.settings import Settings, load
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.history.expiry import ExpiryJob
from sandbox_ui.runs.manager import RunManager
from tests.support.local_provider import LocalSandboxProvider
from tests.support.recorded_runs import digest_of, stored_hashes, write_ended_run
from tests.support.server import create_app, run_server, wait_until

DAY = 86_400.0
NOW = 1_000_000_000.0
SLEEP = ScriptedTurn(calls=(ToolCall("", "execute_bash", '{"command": "echo up; sleep 60"}'),))


def entries(data: Path) -> list[HistoryEntry]:
    history = History(data)
    list(history.derive_missing())
    return history.entries()


def old(data: Path, name: str, days: float, size: int = 0) -> RunFolder:
    return write_ended_run(data, name, at=NOW - days * DAY, files={f"output/{name}": b"x" * size})


def titles(data: Path, rule: Retention, used: int = 0, busy: str = "") -> list[str]:
    return [
        each.title for each in select_expired(entries(data), rule, now=NOW, used=used, busy=[busy])
    ]


# The choice


def test_without_limits_everything_is_kept(tmp_path: Path) -> None:
    old(tmp_path, "ancient", 10_000)
    assert titles(tmp_path, Retention(), used=10**15) == []


def test_runs_expire_by_the_time_of_their_last_end(tmp_path: Path) -> None:
    for name, days in (("older", 40), ("old", 31), ("young", 29)):
        old(tmp_path, name, days)
    write_ended_run(tmp_path, "gone on with", at=NOW - 31 * DAY, messages=("more",) * 2000)
    assert titles(tmp_path, Retention(days=30)) == ["older", "old"]


def test_over_the_size_limit_the_oldest_runs_go_and_no_more(tmp_path: Path) -> None:
    for number in range(5):
        old(tmp_path, str(number), 50 - number, size=500_000)
    sizes = [entry.summary.size for entry in entries(tmp_path) if entry.summary]
    rule = Retention(size=sum(sizes) - sizes[0] - 1)
    assert titles(tmp_path, rule, used=sum(sizes)) == ["0", "1"]
    assert titles(tmp_path, rule, used=rule.size or 0) == []


def test_the_heaviest_user_loses_runs_first(tmp_path: Path) -> None:
    old(tmp_path, "ann's oldest", 90, size=100_000)._update(owner="u:ann")
    for number in range(3):
        old(tmp_path, f"bob's {number}", 50 - number, size=500_000)._update(owner="u:bob")
    sizes = [entry.summary.size for entry in entries(tmp_path) if entry.summary]
    used, bobs = sum(sizes), max(sizes)
    assert titles(tmp_path, Retention(size=used - 1), used) == ["bob's 0"]
    assert titles(tmp_path, Retention(size=used - bobs - 1), used) == ["bob's 0", "bob's 1"]
    assert titles(tmp_path, Retention(days=60, size=used - bobs), used)[0] == "ann's oldest"
    assert sorted(titles(tmp_path, Retention(size=1), used)) == sorted(
        ["ann's oldest", "bob's 0", "bob's 1", "bob's 2"]
    )


def test_pinned_busy_broken_and_recent_runs_are_never_deleted(tmp_path: Path) -> None:
    old(tmp_path, "pinned", 90).set_pinned(True)
    busy = old(tmp_path, "busy", 90)
    broken = old(tmp_path, "broken", 90)
    (broken.path / "run.json").write_bytes(b"{")
    alive = old(tmp_path, "alive", 90)
    whole = alive.journal.read_bytes()
    alive.journal.write_bytes(whole[: whole.rindex(b'{"at"')])
    assert not journal.ends_with(alive.journal, RunEnded)
    write_ended_run(tmp_path, "just ended", at=NOW - GRACE_SECONDS + 60)
    old(tmp_path, "other", 90)
    strict = Retention(days=0.001, size=1)
    assert titles(tmp_path, strict, used=10**15, busy=busy.id) == ["other"]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Retention(), "Runs are kept until a user deletes them."),
        (Retention(days=30), "Runs that are not pinned are deleted 30 days after their end."),
        (
            Retention(size=200 * 1024**3),
            "Runs that are not pinned are deleted when all runs together take more than "
            "200 GB, the oldest first.",
        ),
        (
            Retention(days=0.5, size=3 * 1024**2),
            "Runs that are not pinned are deleted 0.5 days after their end, or when all runs "
            "together take more than 3.0 MB, the oldest first.",
        ),
    ],
)
def test_the_rule_is_described_in_words(rule: Retention, words: str) -> None:
    assert rule.description == words


def test_the_rule_is_read_from_the_settings() -> None:
    settings = load({"STUDIO_RETENTION_DAYS": "30", "STUDIO_RETENTION_SIZE": "none"})
    assert (settings.retention_days, settings.retention_bytes) == (30, 0)
    with pytest.raises(Exception, match="STUDIO_RETENTION_SIZE"):
        load({"STUDIO_RETENTION_SIZE": "0"})


# What goes


@contextmanager
def studio(data: Path) -> Iterator[tuple[RunManager, Catalog]]:
    machine = LocalSandboxProvider(data)
    runs = RunManager(data, machine)
    shelf = Catalog(data, runs, machine)
    shelf.open()
    runs.open()
    shelf.start_summaries()
    yield runs, shelf
    shelf.close()
    runs.close()


def test_expired_runs_are_removed_completely_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gone = old(tmp_path, "gone\x1b[2J", 40)
    (gone.workspace / "output" / "a").write_bytes(b"mine")
    kept = old(tmp_path, "kept", 2, size=100)
    entries(tmp_path)
    with studio(tmp_path) as (_, shelf), caplog.at_level(logging.WARNING):
        assert ExpiryJob(shelf, Retention(days=30)).run_once(NOW) == 1
        assert ExpiryJob(shelf, Retention(days=30)).run_once(NOW) == 0
    assert RunFolder.ids(tmp_path) == [kept.id]
    assert not gone.sandbox_folder.exists()
    assert stored_hashes(tmp_path) == {digest_of(b"x" * 100)}
    (said,) = [each.getMessage() for each in caplog.records if "was deleted" in each.getMessage()]
    assert gone.id in said
    assert "it ended more than 30 days ago" in said
    assert "\x1b" not in said


def test_followed_and_active_runs_are_kept_at_any_age(tmp_path: Path) -> None:
    seen = old(tmp_path, "seen", 90)
    entries(tmp_path)
    with studio(tmp_path) as (runs, shelf):
        working = runs.create_draft()
        task = Task("Do it.", prompts.get_bundled("general"))
        runs.start(working, task, ScriptedModel([SLEEP]), Limits())
        wait_until(lambda: runs.feed(working).status()["state"] == "running_tool")
        unfollow = runs.feed(seen.id).follow(lambda: None)
        late = time.time() + 900 * DAY
        assert shelf.in_use() == {working, seen.id}
        assert ExpiryJob(shelf, Retention(days=30, size=1)).run_once(late) == 0
        with pytest.raises(RunError, match="open on a page"):
            shelf.delete_expired(seen.id)
        unfollow()
        assert ExpiryJob(shelf, Retention(days=30)).run_once(late) == 1
        runs.stop(working)
        wait_until(lambda: not runs.feed(working).status()["alive"])
    assert RunFolder.ids(tmp_path) == [working]


def test_a_run_pinned_just_before_deletion_is_kept(tmp_path: Path) -> None:
    folder = old(tmp_path, "precious", 90)
    entries(tmp_path)
    with studio(tmp_path) as (_, shelf):
        shelf.pin(folder.id, True)
        with pytest.raises(RunError, match="pinned"):
            shelf.delete_expired(folder.id)
    assert RunFolder.ids(tmp_path) == [folder.id]


def test_a_clock_jump_deletes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_ended_run(tmp_path, "yesterday's", at=time.time() - DAY)
    entries(tmp_path)
    with studio(tmp_path) as (_, shelf):
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + 400 * DAY)
        assert ExpiryJob(shelf, Retention(days=30)).run_once() == 0


def test_the_application_deletes_expired_runs_automatically(tmp_path: Path) -> None:
    write_ended_run(tmp_path, "ancient", at=NOW)
    young = write_ended_run(tmp_path, "young")
    entries(tmp_path)
    app = create_app(Settings(data=tmp_path, retention_days=30), LocalSandboxProvider(tmp_path))
    with run_server(app):
        wait_until(lambda: RunFolder.ids(tmp_path) == [young.id])
