"""Refuse sockets, subprocesses and sleep to unit tests, by Python's audit events.

A fixture of a wider scope that used one of them counts for every test that asks for it, whichever
test came first. Threads that a test did not start, as of a server, are not its.
"""

import platform
import sys
import threading
import time
from collections.abc import Generator
from typing import Any, SupportsIndex

import pytest

REFUSED = {
    "socket.connect": "opens a connection",
    "socket.bind": "listens on a socket",
    "subprocess.Popen": "starts a program",
    "os.system": "starts a program",
    "os.posix_spawn": "starts a program",
    "os.fork": "starts a process",
    "os.forkpty": "starts a process",
    "time.sleep": "sleeps",
}

if sys.version_info < (3, 13):  # later versions raise the event themselves
    _sleep = time.sleep

    def _audited_sleep(seconds: float | SupportsIndex, /) -> None:
        sys.audit("time.sleep", seconds)
        _sleep(seconds)

    time.sleep = _audited_sleep

# OpenAI's package asks once for the processor, for which Python starts a program.
platform.processor()


class _Watch:
    """What the current unit test used, and which fixtures used something."""

    def __init__(self) -> None:
        self.active = False
        self.used: str | None = None
        self.others: set[int] = set()
        self.setups: list[pytest.FixtureDef[Any]] = []
        self.fixtures: dict[pytest.FixtureDef[Any], str] = {}

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Handle an audit event: remember it, and end a unit test."""
        if event not in REFUSED or (event == "time.sleep" and arguments[0] == 0):
            return
        for fixture in self.setups:
            if fixture.scope != "function":
                self.fixtures.setdefault(fixture, REFUSED[event])
        if self.active and threading.get_ident() not in self.others:
            self.used = self.used or REFUSED[event]
            pytest.fail(_message(self.used))


_watch = _Watch()
sys.addaudithook(_watch.note)


def _message(use: str, fixture: str = "") -> str:
    by = f", by its fixture {fixture}" if fixture else ""
    return (
        f"A unit test {use}{by}. Test without that, or give the test the level that may: "
        "contract, component, e2e or nightly (docs/testing.md)."
    )


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    _watch.setups.append(fixturedef)
    try:
        return (yield)
    finally:
        _watch.setups.remove(fixturedef)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    return (yield from _watched(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Watch a unit test, and fail it for a fixture that another test has set up."""
    if isinstance(item, pytest.Function) and item.get_closest_marker("unit"):
        for name, found in item._fixtureinfo.name2fixturedefs.items():
            if found[-1] in _watch.fixtures:
                pytest.fail(_message(_watch.fixtures[found[-1]], name))
    return (yield from _watched(item))


def _watched(item: pytest.Item) -> Generator[None, None, None]:
    if not item.get_closest_marker("unit"):
        return (yield)
    _watch.used = None
    _watch.others = {each.ident or 0 for each in threading.enumerate()}
    _watch.others.discard(threading.get_ident())
    _watch.active = True
    try:
        yield
    finally:
        _watch.active = False
    if _watch.used:  # in another thread, or the code under test swallowed it
        pytest.fail(_message(_watch.used))
    return None
