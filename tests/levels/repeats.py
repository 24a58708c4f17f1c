"""Repeat a test once that fails, except unit tests and hanging ones; FLAKY if it passes then."""

import pytest
from _pytest.runner import runtestprotocol

from tests.levels.markers import level_of

REPEATED = ("contract", "component", "e2e")
MOST_FLAKY = 3
"""More flaky tests than these fail a run."""

_TIMED_OUT = "from pytest-timeout"
"""In the report of a test that took too long; repeated, it would have no time limit."""

_flaky: dict[str, str] = {}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if level_of(item) not in REPEATED:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    failures = [report for report in reports if report.failed]
    if failures and not any(_TIMED_OUT in report.longreprtext for report in failures):
        item._initrequest()  # type: ignore[attr-defined]  # fixtures are set up again
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not any(report.failed for report in reports):
            reports[-1].flaky = "\n".join(report.longreprtext for report in failures)  # type: ignore[attr-defined]
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember the first failure of a flaky test."""
    if first := getattr(report, "flaky", None):
        _flaky[report.nodeid] = first


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    return ("flaky", "F", "FLAKY") if hasattr(report, "flaky") else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for nodeid, first in _flaky.items():
        terminalreporter.section(f"FLAKY {nodeid}", red=True)
        terminalreporter.write_line(first)
    if len(_flaky) > MOST_FLAKY:
        terminalreporter.write_line(f"{len(_flaky)} flaky tests; {MOST_FLAKY} are accepted.")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if len(_flaky) > MOST_FLAKY and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
