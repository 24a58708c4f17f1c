"""``python -m tests.stages``: run the tests in stages; make test, make test-all and CI call it."""

import argparse
import subprocess
import sys
import time
from datetime import UTC, datetime
from threading import Thread

from tests.levels.parts import PARTS, needed_packages, nightly_files, part_of
from tests.levels.repeats import MOST_FLAKY
from tests.levels.results import Results
from tests.stages.preparation import LOGS, ROOT, Preparation
from tests.stages.stage import Stage, run_command, run_tests

UNIT = "unit"
CHANGE = "((component and not (e2e or thorough)) or main_path) and not nightly"
REST = "(contract or e2e or (component and thorough)) and not (main_path or nightly)"
SLOWEST = 20
DAY_SECONDS = 86_400


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.stages", description=__doc__)
    parser.add_argument(
        "scope", choices=("quick", "test", "all", "ci"), help="how many of the tests to run"
    )
    parser.add_argument(
        "--part", type=int, choices=range(PARTS), help="ci: the nightly part to run"
    )
    options = parser.parse_args()
    started = time.monotonic()
    part = None
    files: list[str] = []
    if options.scope == "ci":
        day = _day_of_last_commit()
        part = part_of(day) if options.part is None else options.part
        files = nightly_files(part)
        print(f"Nightly part {part} of 0 to {PARTS - 1} ({_date(day)}): {len(files)} files")
    if options.scope == "all":
        files = [file for each in range(PARTS) for file in nightly_files(each)]
    if options.scope == "quick":
        stages = _run_quick()
    else:
        stages = _run(files, part, options.scope != "test")
    return _conclude(stages, files if part is not None else [], time.monotonic() - started)


def _run_quick() -> list[Stage]:
    style = _Check("style")
    style.start()
    return [run_tests("unit", UNIT), style.outcome()]


def _run(files: list[str], part: int | None, everything: bool) -> list[Stage]:
    preparation = Preparation(needed_packages(files))
    preparation.start()
    check = _Check("check", preparation)
    check.start()
    stages = [run_tests("unit", UNIT)]
    preparation.wait()
    preparation.report()
    stages.append(run_tests("per change", CHANGE))
    if everything:
        stages.append(run_tests("rest", REST))
        only = [] if part is None else [f"--part={part}"]
        stages.append(run_tests("nightly", "nightly", *only))
    return [*stages, check.outcome()]


class _Check(Thread):
    """A target of make with checks, beside the tests, once what it needs is installed."""

    def __init__(self, target: str, preparation: Preparation | None = None) -> None:
        super().__init__()
        self._target, self._preparation = target, preparation
        self._log = LOGS / f"{target}.log"
        self._stage = Stage(target, status=1)

    def run(self) -> None:
        if self._preparation:
            self._preparation.wait("page")
        LOGS.mkdir(parents=True, exist_ok=True)
        command = ["make", "--no-print-directory", self._target]
        self._stage = run_command(self._target, command, self._log)

    def outcome(self) -> Stage:
        """Wait for the checks, print what they found, and return how they ended."""
        self.join()
        print(f"\n── make {self._target} ──\n{self._log.read_text()}", flush=True)
        if self._stage.status:
            self._stage.results.add_failure(f"make {self._target}")
        return self._stage


def _day_of_last_commit() -> int:
    shown = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.check_output(shown, cwd=ROOT, text=True)) // DAY_SECONDS


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_SECONDS, UTC).date().isoformat()


def _conclude(stages: list[Stage], files: list[str], seconds: float) -> int:
    """Print what was run and how it ended, the counts of all stages last."""
    total = Results()
    print("\nstage        seconds    CPU s  machine")
    for stage in stages:
        times = f"{stage.seconds:8.0f} {stage.cpu:8.0f} {stage.machine_cpu:8.0f}"
        print(f"{stage.name:12}{times}  {_counts(stage.results)}")
        total.add(stage.results)
    for file in files:
        print(f"nightly: {file}")
    print(f"\nThe {SLOWEST} slowest tests:")
    for nodeid, each in sorted(total.seconds.items(), key=lambda item: -item[1])[:SLOWEST]:
        print(f"{each:8.1f} s  {nodeid}")
    for reason, count in total.not_run.most_common():
        print(f"not run: {count}, {reason}")
    for nodeid in total.flaky:
        print(f"FLAKY {nodeid}")
    for nodeid in total.failed:
        print(f"FAILED {nodeid}")
    if len(total.flaky) > MOST_FLAKY:
        print(f"{len(total.flaky)} flaky tests: more than the {MOST_FLAKY} that are accepted.")
        total.add_failure("too many flaky tests")
    print(f"==== {_counts(total)} in {seconds:.2f}s ====", flush=True)
    return 1 if total.outcomes["failed"] or any(stage.status for stage in stages) else 0


def _counts(results: Results) -> str:
    counts = {name: results.outcomes[name] for name in ("passed", "failed", "skipped")}
    counts["flaky"] = len(results.flaky)
    return ", ".join(f"{n} {name}" for name, n in counts.items())


if __name__ == "__main__":
    sys.exit(main())
