"""Every driver of runs continues after a stop and after a kill, and repeats nothing recorded.

A kill is a copy of the data folder at that moment, with which a new process begins: this is what
SIGKILL leaves. ``tests/faults/test_killed.py`` kills a real process of each kind.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import get_args

import pytest

from agent.runs.event_recorder import INTERRUPTED
from agent.runs.folder import RunFolder
from tests.contract.continuing import drivers, groups
from tests.contract.continuing.drivers import ContinuedOnThePage, Driver
from tests.contract.continuing.groups import Group, PageGroup
from tests.contract.continuing.work import COMMANDS, Hold, Work, check_record, commands
from tests.support.models.endpoint import Endpoint

pytestmark = pytest.mark.contract

DRIVERS: tuple[type[Driver], ...] = (
    drivers.PageRun, groups.PageComparison, groups.PageEvaluation,
    drivers.PythonRun, groups.PythonComparison, groups.PythonEvaluation,
    drivers.CommandLineRun, groups.Rollouts,
)  # fmt: skip

every_driver = pytest.mark.parametrize("driver_class", DRIVERS, ids=lambda each: each.__name__)
continuing_drivers = pytest.mark.parametrize(
    "driver_class",
    [each for each in DRIVERS if not issubclass(each, ContinuedOnThePage)],
    ids=lambda each: each.__name__,
)
every_hold = pytest.mark.parametrize("hold", get_args(Hold))


class Killed:
    """What a kill leaves of a driver's data folder, while a run of it was held.

    It is put back to the same place before each use: shells remember the folder that they are in.
    """

    def __init__(self, driver_class: type[Driver], hold: Hold, folder: Path) -> None:
        self.driver_class = driver_class
        self.data, self._left = folder / "data", folder / "left"
        work = Work(hold, driver_class.free)
        with Endpoint(work) as endpoint, driver_class(self.data, endpoint.url) as driver:
            driver.begin()
            work.wait_until_held(self.data)
            subprocess.run(["cp", "-a", str(self.data), str(self._left)], check=True)
            driver.stop()

    def restore(self) -> RunFolder:
        """Put the data folder back; return the run that was held, which was the last to begin."""
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", str(self._left), str(self.data)], check=True)
        begun = [each for each in RunFolder.all(self.data) if each.journal.exists()]
        return max(begun, key=lambda each: each.created)


def ended_runs(data: Path) -> dict[str, bytes]:
    """Return the journals of the runs that have ended well."""
    journals = {each.id: each.journal for each in RunFolder.all(data) if each.journal.exists()}
    found = {run: path.read_bytes() for run, path in journals.items()}
    return {run: content for run, content in found.items() if b'"status":"submitted"' in content}


@pytest.fixture(scope="module")
def kill(tmp_path_factory: pytest.TempPathFactory) -> Callable[[type[Driver], Hold], Killed]:
    """Returns what a kill leaves of a driver; made once."""
    return cache(
        lambda driver_class, hold: Killed(
            driver_class, hold, tmp_path_factory.mktemp(driver_class.__name__)
        )
    )


def resume_and_check(driver: Driver, work: Work, endpoint: Endpoint) -> None:
    """Continue a driver's work to its end; nothing that was recorded is done again."""
    ended = ended_runs(driver.data)
    assert len(ended) == driver.free
    work.released.set()
    work.asked.clear()
    driver.resume()
    assert driver.state == "finished"
    assert endpoint.history_errors == []
    now = ended_runs(driver.data)
    assert {run: now[run] for run in ended} == ended
    for run in now:
        folder = RunFolder.open(driver.data, run)
        ends = check_record(folder)
        assert ends[-1].answer == "2"
        assert all(commands(folder)[each] == 1 for each in COMMANDS)
    for each in RunFolder.all(driver.data):
        if each.journal.exists():
            check_record(each)
    if isinstance(driver, Group):
        check_outcomes(driver, ended)
        assert sum(work.asked.values()) == 3 - len(ended)


def check_outcomes(driver: Group, ended: dict[str, bytes]) -> None:
    """Check that each of a group's three runs counts once, and what had ended still counts."""
    runs = driver.run_ids
    assert len(set(runs)) == len(runs) == 3
    assert set(ended) <= set(runs) <= set(ended_runs(driver.data))
    if isinstance(driver, PageGroup):  # what is no longer part of it is listed as an ordinary run
        folders = RunFolder.all(driver.data)
        assert {each.id for each in folders if each.comparison} == set(runs)
        assert not driver.services.catalog.drafts()
    described = driver.describe()
    assert described["counts"]["done"] == described["counts"]["total"] == 3
    if "cells" in described:
        assert [[cell["outcome"] for cell in row] for row in described["cells"]] == [
            ["right"], ["wrong"], ["wrong"],
        ]  # fmt: skip
    else:
        statuses = [run["status"] for each in described["members"] for run in each["runs"]]
        assert statuses == ["submitted"] * 3


@every_hold
@every_driver
def test_stopped_work_continues(driver_class: type[Driver], hold: Hold, tmp_path: Path) -> None:
    work = Work(hold, driver_class.free)
    with (
        Endpoint(work) as endpoint,
        driver_class(tmp_path / "data", endpoint.url) as driver,
    ):
        driver.begin()
        stopped = work.wait_until_held(driver.data)
        driver.stop()
        assert driver.state == "stopped"
        assert [each.status for each in check_record(stopped)] == ["stopped"]
        resume_and_check(driver, work, endpoint)


@every_hold
@every_driver
def test_killed_work_continues(
    driver_class: type[Driver], hold: Hold, kill: Callable[[type[Driver], Hold], Killed]
) -> None:
    killed = kill(driver_class, hold)
    continue_after_a_kill(killed, killed.restore())


@continuing_drivers
def test_work_continues_after_a_kill_between_any_two_events(
    driver_class: type[Driver], kill: Callable[[type[Driver], Hold], Killed]
) -> None:
    """A single run goes on with its record, and a group does the run anew: some cuts suffice."""
    killed = kill(driver_class, "call")
    lines = killed.restore().journal.read_bytes().splitlines(keepends=True)
    ends = list(accumulate(map(len, lines)))
    for end in ends[: -1 if issubclass(driver_class, drivers.SingleRun) else 3]:
        run = killed.restore()
        os.truncate(run.journal, end)
        continue_after_a_kill(killed, run)


@continuing_drivers
def test_work_continues_after_a_kill_at_a_byte(
    driver_class: type[Driver], kill: Callable[[type[Driver], Hold], Killed]
) -> None:
    """Of the journal, the manifests and a group's list the last line is left in part."""
    killed = kill(driver_class, "call")
    run = killed.restore()
    lists = [*killed.data.glob("*/*/runs.jsonl"), *killed.data.glob("*/*/scores.jsonl")]
    for path in (run.journal, run.manifests, *lists):
        with path.open("ab") as file:
            file.write(b'{"member": 0, "repet')
    continue_after_a_kill(killed, run)


def continue_after_a_kill(killed: Killed, run: RunFolder) -> None:
    recorded = run.journal.read_bytes()
    driver_class, work = killed.driver_class, Work("call", killed.driver_class.free)
    with Endpoint(work) as endpoint, driver_class(killed.data, endpoint.url) as driver:
        assert driver.state == "interrupted"
        assert [each.reason for each in check_record(run)] == [INTERRUPTED]
        resume_and_check(driver, work, endpoint)
    with driver_class(killed.data, "") as driver:
        assert driver.state == "finished"
    assert run.journal.read_bytes().startswith(recorded[: recorded.rfind(b"\n") + 1])
