"""Retention: which runs expire, and which are never deleted automatically."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent import prompts
from agent.errors import RunError
from agent.history.index import History
from agent.history.retention import GRACE_SECONDS, Retention, select_expired
from agent.limits import Limits
from agent.models.base import ToolCall
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import Task
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.history.expiry import ExpiryJob
from sandbox_ui.runs.manager import RunManager
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.scripted import ScriptedModel, ScriptedTurn
from tests.support.recorded_runs import digest_of, remove_end, stored_hashes, write_ended_run
from tests.support.server import serve_studio, wait_until

DAY = 86_400.0
NOW = 1_000_000_000.0
SLEEP = ScriptedTurn(calls=(ToolCall("", "execute_bash", '{"command": "echo up; sleep 60"}'),))


def index(data: Path) -> History:
    history = History(data)
    history.page()
    return history


def sizes_of(data: Path) -> list[int]:
    """Return the sizes of all runs, oldest first."""
    return [run.size for run in index(data).deletable(NOW)]


def write_old_run(data: Path, name: str, days: float, size: int = 0, owner: str = "") -> RunFolder:
    files = {f"output/{name}": b"x" * size}
    return write_ended_run(data, name, at=NOW - days * DAY, files=files, owner=owner)


def expired_titles(data: Path, rule: Retention, used: int = 0, busy: str = "") -> list[str]:
    history = index(data)
    sizes = {owner: size for owner, (_, size) in history.size_by_owner().items()}
    deletable = history.deletable(NOW - GRACE_SECONDS)
    expired = select_expired(deletable, rule, now=NOW, used=used, used_by_owner=sizes, busy=[busy])
    return [each.title for each in expired]


# Selection of expired runs


def test_without_limits_everything_is_kept(tmp_path: Path) -> None:
    write_old_run(tmp_path, "ancient", 10_000)
    assert expired_titles(tmp_path, Retention(), used=10**15) == []


def test_runs_expire_by_the_time_of_their_last_end(tmp_path: Path) -> None:
    for name, days in (("older", 40), ("old", 31), ("young", 29)):
        write_old_run(tmp_path, name, days)
    write_ended_run(tmp_path, "gone on with", at=NOW - 31 * DAY, messages=("more",) * 2000)
    assert expired_titles(tmp_path, Retention(days=30)) == ["older", "old"]


def test_over_the_size_limit_only_the_oldest_runs_expire(tmp_path: Path) -> None:
    for number in range(5):
        write_old_run(tmp_path, str(number), 50 - number, size=500_000)
    sizes = sizes_of(tmp_path)
    rule = Retention(size=sum(sizes) - sizes[0] - 1)
    assert expired_titles(tmp_path, rule, used=sum(sizes)) == ["0", "1"]
    assert expired_titles(tmp_path, rule, used=rule.size or 0) == []


def test_the_heaviest_user_loses_runs_first(tmp_path: Path) -> None:
    write_old_run(tmp_path, "ann's oldest", 90, 100_000, "u:ann")
    bobs = [f"bob's {number}" for number in range(3)]
    for number, name in enumerate(bobs):
        write_old_run(tmp_path, name, 50 - number, 500_000, "u:bob")
    sizes = sizes_of(tmp_path)
    used, size = sum(sizes), max(sizes)
    assert expired_titles(tmp_path, Retention(size=used - 1), used) == bobs[:1]
    assert expired_titles(tmp_path, Retention(size=used - size - 1), used) == bobs[:2]
    old = Retention(days=60, size=used - size)
    assert expired_titles(tmp_path, old, used)[0] == "ann's oldest"
    assert {*expired_titles(tmp_path, Retention(size=1), used)} == {"ann's oldest", *bobs}


def test_pinned_busy_broken_and_recent_runs_are_never_deleted(tmp_path: Path) -> None:
    write_old_run(tmp_path, "pinned", 90).set_pinned(True)
    busy = write_old_run(tmp_path, "busy", 90)
    broken = write_old_run(tmp_path, "broken", 90)
    (broken.path / "run.json").write_bytes(b"{")
    remove_end(write_old_run(tmp_path, "alive", 90))
    write_ended_run(tmp_path, "just ended", at=NOW - GRACE_SECONDS + 60)
    write_old_run(tmp_path, "other", 90)
    strict = Retention(days=0.001, size=1)
    assert expired_titles(tmp_path, strict, used=10**15, busy=busy.id) == ["other"]


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
def test_a_rule_has_a_description(rule: Retention, words: str) -> None:
    assert rule.description == words


# Deletion


@contextmanager
def studio(data: Path) -> Iterator[tuple[RunManager, Catalog]]:
    provider = LocalSandboxProvider(data)
    runs = RunManager(data, provider)
    catalog = Catalog(data, runs, provider)
    catalog.open()
    runs.open()
    catalog.start_indexing()
    yield runs, catalog
    catalog.close()
    runs.close()


def test_expired_runs_are_removed_completely_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expired = write_old_run(tmp_path, "gone\x1b[2J", 40)
    (expired.workspace / "output" / "a").write_bytes(b"mine")
    recent = write_old_run(tmp_path, "kept", 2, size=100)
    index(tmp_path)
    with studio(tmp_path) as (_, catalog), caplog.at_level(logging.WARNING):
        assert ExpiryJob(catalog, Retention(days=30)).run_once(NOW) == 1
        assert ExpiryJob(catalog, Retention(days=30)).run_once(NOW) == 0
    assert RunFolder.ids(tmp_path) == [recent.id]
    assert not expired.sandbox_folder.exists()
    assert stored_hashes(tmp_path) == {digest_of(b"x" * 100)}
    (message,) = [each for each in caplog.messages if "was deleted" in each]
    assert expired.id in message
    assert "it ended more than 30 days ago" in message
    assert "\x1b" not in message


@pytest.mark.contract
def test_followed_and_active_runs_are_kept_at_any_age(tmp_path: Path) -> None:
    followed = write_old_run(tmp_path, "seen", 90)
    index(tmp_path)
    with studio(tmp_path) as (runs, catalog):
        active = runs.create_draft()
        task = Task("Do it.", prompts.get_bundled("general"))
        runs.start(active, task, ScriptedModel([SLEEP]), Limits())
        wait_until(lambda: runs.feed(active).status()["state"] == "running_tool")
        unfollow = runs.feed(followed.id).follow(lambda: None)
        late = time.time() + 900 * DAY
        assert catalog.in_use() == {active, followed.id}
        assert ExpiryJob(catalog, Retention(days=30, size=1)).run_once(late) == 0
        with pytest.raises(RunError, match="open on a page"):
            catalog.delete_expired(followed.id)
        unfollow()
        assert ExpiryJob(catalog, Retention(days=30)).run_once(late) == 1
        runs.stop(active)
        wait_until(lambda: not runs.feed(active).status()["running"])
    assert RunFolder.ids(tmp_path) == [active]


def test_a_run_pinned_just_before_deletion_is_kept(tmp_path: Path) -> None:
    folder = write_old_run(tmp_path, "precious", 90)
    index(tmp_path)
    with studio(tmp_path) as (_, catalog):
        catalog.pin(folder.id, True)
        with pytest.raises(RunError, match="pinned"):
            catalog.delete_expired(folder.id)
    assert RunFolder.ids(tmp_path) == [folder.id]


def test_a_clock_jump_deletes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_ended_run(tmp_path, "yesterday's", at=time.time() - DAY)
    index(tmp_path)
    with studio(tmp_path) as (_, catalog):
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + 400 * DAY)
        assert ExpiryJob(catalog, Retention(days=30)).run_once() == 0


@pytest.mark.contract
def test_the_application_deletes_expired_runs_automatically(tmp_path: Path) -> None:
    write_ended_run(tmp_path, "ancient", at=NOW)
    young = write_ended_run(tmp_path, "young")
    index(tmp_path)
    with serve_studio(tmp_path, retention_days=30):
        wait_until(lambda: RunFolder.ids(tmp_path) == [young.id])
