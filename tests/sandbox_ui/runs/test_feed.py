"""The event feed that followers of a run receive."""

import errno
import json
import os
import time
from pathlib import Path

import pytest

from agent.events import (
    FileChange,
    ModelAnswered,
    Preparing,
    RunContinued,
    RunEnded,
    StepStarted,
    Totals,
    WorkspaceChanged,
)
from agent.models.base import TurnTokens
from agent.runs.journal import Journal
from agent.util.clock import EVENTS
from sandbox_ui.runs.feed import BATCH_BYTES, Feed
from tests.support.recorded_runs import write_ended_run


def test_token_ids_stay_in_the_journal(tmp_path: Path) -> None:
    folder = write_ended_run(tmp_path)
    turn = ModelAnswered(
        step=2, text="I work.", reasoning="", calls=(), finish="stop", usage=None,
        estimated=False, seconds=1.0, tokens=TurnTokens(0, (11, 12), (13,), (-0.5,)),
    )  # fmt: skip
    journal = Journal(folder.journal)
    journal.append(RunContinued(text="Go on.", model="m", metered=True))
    journal.append(StepStarted(step=2, note=""))
    journal.append(turn)
    journal.close()
    feed = Feed(folder)
    message_after = feed.events_after(0)
    assert message_after is not None
    for content in (message_after.data, feed.step_events(2)):
        assert b'"I work."' in content
        assert b'"generated":[13]' not in content
    assert turn in feed.events()


def test_an_interrupted_step_does_not_belong_to_the_next_round(tmp_path: Path) -> None:
    """The state contains the step, and its events are not sent again before another step starts."""
    folder = write_ended_run(tmp_path)
    journal = Journal(folder.journal)
    journal.append(RunContinued(text="Go on.", model="m", metered=True))
    journal.append(StepStarted(step=2, note=""))
    journal.append(RunEnded(status="failed", reason="No answer.", answer="", totals=Totals()))
    journal.append(RunContinued(text="Again.", model="m", metered=True))
    end = journal.append(Preparing(state="queued"))
    journal.close()
    message = Feed(folder).state_message()
    assert message.cursor == end
    steps = json.loads(message.data)["state"]["steps"]
    assert (steps[-1]["step"], steps[-1]["round"]) == (2, 2)


def test_the_time_of_a_status_is_on_the_clock_of_the_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page computes durations from both, also when the wall clock is set during the run."""
    folder, real = write_ended_run(tmp_path), time.time
    journal = Journal(folder.journal)
    with EVENTS.round():
        journal.append(RunContinued(text="Go on.", model="m", metered=True))
        monkeypatch.setattr(time, "time", lambda: real() + 1e9)
        status = json.loads(Feed(folder).state_message().data)
    journal.close()
    assert 0 <= status["now"] - status["state"]["state_since"] < 1e8


def test_batches_contain_every_event_exactly_once(tmp_path: Path) -> None:
    folder = write_ended_run(tmp_path)
    journal = Journal(folder.journal)
    for _ in range(3):
        journal.append(RunContinued(text="x" * BATCH_BYTES, model="m", metered=True))
    journal.close()
    feed, cursor, received = Feed(folder), 0, []
    while message := feed.events_after(cursor):
        assert message.cursor > cursor
        cursor = message.cursor
        received += json.loads(message.data)["events"]
    kinds = [event.kind for event in feed.events()]
    assert [event["kind"] for event in received] == kinds
    assert kinds[-3:] == ["run_continued"] * 3
    assert cursor == folder.journal.stat().st_size


def test_without_a_watch_the_files_are_listed_again_after_each_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's limits on watches apply to the whole machine; other programs may use them up."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    folder = write_ended_run(tmp_path)
    feed = Feed(folder)

    def wake() -> None: ...

    with monkeypatch.context() as patch:
        patch.setattr("watchdog.observers.inotify_c.InotifyFD._create_inotify_fd", refuse)
        unfollow = feed.follow(wake)
    cursor = feed.state_message().cursor
    assert feed.take_dirty(wake) == b'{"all":true}'
    assert feed.take_dirty(wake) is None

    change = WorkspaceChanged(step=2, changes=(FileChange("output/b", "added"),), total=1)
    journal = Journal(folder.journal)
    journal.append(RunContinued(text="Go on.", model="m", metered=True))
    journal.append(change)
    assert feed.events_after(cursor) is not None
    assert feed.take_dirty(wake) == b'{"all":true}'

    feed.update_watcher()  # there are watches again
    feed.take_dirty(wake)
    cursor = feed.state_message().cursor
    journal.append(change)
    journal.close()
    assert feed.events_after(cursor) is not None
    assert feed.take_dirty(wake) is None, "the watch reports each change by itself"
    unfollow()
