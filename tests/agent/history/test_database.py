"""The history's database: a cache that may be deleted, damaged or locked at any time."""

import os
import shutil
import sqlite3
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.history import database, indexing, records
from agent.history.index import History
from tests.support.recorded_runs import write_ended_run
from tests.support.server import wait_until

SECRET = "the launch code is zq7-xylophone"


def titles(history: History, words: str = "") -> list[str]:
    return [entry.title for entry in history.page(words).entries]


def database_file(data: Path) -> Path:
    return data / "history.sqlite"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with two indexed runs."""
    write_ended_run(tmp_path, "Count the gulls", answer="Nine gulls.", at=1.0)
    write_ended_run(tmp_path, "Count the terns", answer="Two terns.", at=2.0)
    history = History(tmp_path)
    assert titles(history) == ["Count the terns", "Count the gulls"]
    history.indexer.close()
    return tmp_path


def overwrite(position: float, content: bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(int(path.stat().st_size * position))
            file.write(content)

    return damage


def execute(statement: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(statement)
            connection.commit()

    return damage


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: os.truncate(path, 0),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "no database": lambda path: path.write_bytes(b"x" * 10_000),
    "header": overwrite(0, b"\0" * 16),
    "schema": overwrite(0.01, os.urandom(300)),
    "pages": overwrite(0.1, b"\xff" * 100_000),
    "another version": execute("PRAGMA user_version = 1"),
    "no table": execute("DROP TABLE contents"),
    "no index": execute("DROP TABLE words"),
    "a summary": execute("UPDATE contents SET summary = x'00'"),
    "a summary's JSON": lambda path: execute(
        f"UPDATE contents SET summary = x'{zlib.compress(b'{}').hex()}'"
    )(path),
    "a text": execute("UPDATE contents SET passages = x'00'"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_database_is_built_again(data: Path, damage: Callable[[Path], object]) -> None:
    damage(database_file(data))
    history = History(data)
    assert titles(history, "nine") == ["Count the gulls"]
    assert titles(history) == ["Count the terns", "Count the gulls"]
    assert history.totals().count == 2
    damage(database_file(data))  # while it is open
    write_ended_run(data, "Count the auks", at=3.0)
    for _ in range(2):
        titles(history, "count")
    assert set(titles(history)) == {"Count the auks", "Count the terns", "Count the gulls"}
    assert titles(History(data), "nine") == ["Count the gulls"]


def test_a_database_locked_by_another_program_is_replaced(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_LOCK_SECONDS", 0.1)
    with closing(sqlite3.connect(database_file(data), isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        history = History(data)
        assert titles(history) == ["Count the terns", "Count the gulls"]


def test_runs_are_listed_when_the_database_cannot_be_written(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(data)
    assert len(titles(history)) == 2

    def full(*_: object) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(records, "store", full)
        write_ended_run(data, "Count the auks", answer="None.", at=3.0)
        assert titles(history) == ["Count the auks", "Count the terns", "Count the gulls"]
        assert titles(history, "none") == ["Count the auks"]
        assert history.totals().count == 3
    assert titles(history, "auks none") == ["Count the auks"]
    assert history.indexer.unsaved() == []
    assert history.page().total == 3


def test_a_run_is_listed_while_another_thread_indexes_for_long(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_LOCK_SECONDS", 0.01)
    history = History(data)
    assert len(titles(history)) == 2
    run = write_ended_run(data, "Count the auks", answer="None.", at=3.0)
    with history.indexer.database.lock, ThreadPoolExecutor() as pool:
        history.indexer.changed(run.id)
        assert pool.submit(titles, history).result()[0] == "Count the auks"
    assert (titles(history)[0], history.indexer.unsaved()) == ("Count the auks", [])


def test_a_run_is_listed_while_another_thread_stores_it(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_LOCK_SECONDS", 0.01)
    history = History(data)
    assert len(titles(history)) == 2
    storing, gate, store = threading.Event(), threading.Event(), records.store

    def slowly(*arguments: Any) -> None:
        storing.set()
        assert gate.wait(60)
        store(*arguments)

    monkeypatch.setattr(records, "store", slowly)
    run = write_ended_run(data, "Count the auks", answer="None.", at=3.0)
    history.indexer.changed(run.id)
    with ThreadPoolExecutor() as pool:
        other = pool.submit(titles, history)
        assert storing.wait(60)
        listed = titles(history)[0]
        gate.set()
        assert (listed, other.result()[0]) == ("Count the auks", "Count the auks")
    assert (titles(history)[0], history.indexer.unsaved()) == ("Count the auks", [])


def test_the_database_is_only_for_its_owner(data: Path) -> None:
    assert database_file(data).stat().st_mode & 0o777 == 0o600


def test_no_text_of_a_deleted_run_remains(data: Path) -> None:
    run = write_ended_run(data, SECRET, answer="xylophone " * 2000, at=3.0)
    history = History(data)
    assert titles(history, "xylophone") == [SECRET]
    shutil.rmtree(run.path)
    history.indexer.changed(run.id)
    assert titles(history, "xylophone") == []
    while history.indexer.database.erase_deleted():
        pass
    assert titles(history, "gulls") == ["Count the gulls"]
    files = b"".join(path.read_bytes() for path in data.glob("history.sqlite*"))
    for rest in (run.id, "xylophone", "zq7", "ylo"):
        assert rest.encode() not in files
    with closing(sqlite3.connect(database_file(data))) as connection:
        trigrams = {term for (term,) in connection.execute("SELECT term FROM vocabulary")}
        index = b"".join(block for (block,) in connection.execute("SELECT block FROM words_data"))
    assert "gul" in trigrams
    assert not trigrams & {"xyl", "zq7", "pho"}
    assert b"xyl" not in index


def test_many_threads_read_while_runs_are_indexed(data: Path) -> None:
    history, done = History(data), threading.Event()

    def search() -> list[int]:
        found = []
        while not done.is_set():
            found.append(history.page("count").total)
        return found

    history.indexer.open()
    with ThreadPoolExecutor() as pool:
        searches = [pool.submit(search) for _ in range(2)]
        for number in range(60):
            write_ended_run(data, f"Count number {number}", at=10.0 + number)
        wait_until(lambda: history.page("count").total == 62)
        done.set()
        for each in searches:
            assert set(each.result()) <= set(range(2, 63))
    history.indexer.close()


def test_the_newest_runs_are_listed_while_the_others_are_indexed(tmp_path: Path) -> None:
    for number in range(40):
        folder = write_ended_run(tmp_path, f"Run {number}", at=float(number))
        os.utime(folder.journal, (number, number))
    history = History(tmp_path)
    history.indexer.update(0.0)
    assert history.indexer.backlog == 39
    history.indexer.update(0.0)
    page = history.page()
    assert [entry.title for entry in page.entries][:2] == ["Run 39", "Run 38"]
    history.indexer.open()
    wait_until(lambda: not history.page().indexing)
    assert history.page().total == 40
    history.indexer.close()
