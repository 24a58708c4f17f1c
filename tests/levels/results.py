"""Results of a session as JSON, for the stages that add several sessions up."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest


@dataclass
class Results:
    """Outcomes of a session's tests."""

    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    flaky: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    not_run: Counter[str] = field(default_factory=Counter)
    """Reasons why tests were skipped."""

    @classmethod
    def read(cls, path: Path) -> "Results":
        found = cls(**json.loads(path.read_text()))
        found.outcomes, found.not_run = Counter(found.outcomes), Counter(found.not_run)
        return found

    def add(self, other: "Results") -> None:
        self.outcomes += other.outcomes
        self.seconds |= other.seconds
        self.flaky += other.flaky
        self.failed += other.failed
        self.not_run += other.not_run

    def add_failure(self, name: str) -> None:
        """Count a failure, once for each test."""
        if name not in self.failed:
            self.outcomes["failed"] += 1
            self.failed.append(name)

    def add_report(self, report: pytest.TestReport) -> None:
        """Count a phase of a test."""
        nodeid = report.nodeid
        self.seconds[nodeid] = round(self.seconds.get(nodeid, 0) + report.duration, 3)
        if hasattr(report, "flaky"):
            self.flaky.append(nodeid)
        if report.failed:
            self.add_failure(nodeid)
        elif report.skipped:
            self.outcomes["skipped"] += 1
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "expected"
            self.not_run[reason.removeprefix("Skipped: ")] += 1
        elif report.when == "call":
            self.outcomes["passed"] += 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--results", type=Path, help="write the results of the session as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Write the results where that was asked for, from the process that has all of them."""
    path = config.getoption("results")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(ResultsWriter(path))


class ResultsWriter:
    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._results = Results()
        self._skipped: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._results.add_report(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that cannot be collected as a failure, a skipped one as a reason."""
        if report.failed:
            self._results.add_failure(report.nodeid)
        elif report.nodeid in self._skipped:
            return  # each worker collects all files
        elif report.skipped and isinstance(report.longrepr, tuple):
            self._skipped.add(report.nodeid)
            self._results.not_run[report.longrepr[2].removeprefix("Skipped: ")] += 1

    def pytest_sessionfinish(self) -> None:
        self._path.write_text(json.dumps(vars(self._results)))
