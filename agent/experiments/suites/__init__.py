"""The suites of the paper's six domains, from the authors' data or a sample of our own tasks."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from agent.errors import TaskError
from agent.experiments.suite import DataFile, Suite
from agent.experiments.suites import aa_lcr, benchmark, published
from agent.experiments.suites.records import data_files, describe_files
from agent.tasks.task import TaskRecord
from agent.util.text import quote

SAMPLES = Path(__file__).parent / "samples"

_SUITES = {
    suite.name: (suite, tasks)
    for suite, tasks in (
        (published.AIME, published.aime_tasks),
        (published.UGPHYSICS, published.ugphysics_tasks),
        (published.CHEMBENCH, published.chembench_tasks),
        (published.MEDXPERTQA, published.medxpertqa_tasks),
        (aa_lcr.SUITE, aa_lcr.tasks),
        (published.IFBENCH, published.ifbench_tasks),
    )
}

NAMES: tuple[str, ...] = tuple(_SUITES)  # in the order of the paper's figure


def paths_by_suite(texts: Iterable[str]) -> dict[str, Path]:
    """Return the paths of ``[SUITE=]PATH`` by suite; one without a suite is under ""."""
    pairs = ((text, *text.partition("=")) for text in texts)
    return {
        name if equals and name in NAMES else "": Path(path if equals and name in NAMES else text)
        for text, name, equals, path in pairs
    }


def describe(name: str) -> Suite:
    """Return a suite without its tasks. Raises ``TaskError`` if there is none of this name."""
    if name not in _SUITES:
        raise TaskError(f"There is no suite {quote(name)}. Choose one of {', '.join(NAMES)}.")
    return _SUITES[name][0]


def load(name: str, path: Path | None = None) -> Suite:
    """Load a suite from the authors' data, a file or folder, or the packaged sample (None).

    Any file can be read, so take a path from the operator only, never from a remote user. Raises
    ``TaskError`` for an unknown suite, and missing or invalid data.
    """
    suite = describe(name)
    files = [] if path is None else benchmark.find_files(name, path)
    if files:
        suite = replace(suite, source=benchmark.SOURCE)
        tasks = tuple(benchmark.read_tasks(suite, files))
    else:
        tasks = tuple(_SUITES[name][1](SAMPLES / name if path is None else path))
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise TaskError(f"{path or name}: two tasks have the id {quote(task.id)}.")
        seen.add(task.id)
    used = data_of(name, path)
    return replace(suite, tasks=tasks, sample=path is None, files=used)


def data_of(name: str, path: Path | None = None) -> tuple[DataFile, ...]:
    """Return the files that a suite is read from, with their hashes; see ``load``."""
    suite, root = describe(name), SAMPLES / name if path is None else path
    files = [] if path is None else benchmark.find_files(name, path)
    if not files and name == aa_lcr.SUITE.name:
        files = [*data_files(root, aa_lcr.PATTERNS, suite.source), *aa_lcr.archives(root)]
    return describe_files(files or data_files(root, published.PATTERNS[name], suite.source), root)


def as_records(suite: Suite) -> list[TaskRecord]:
    """Return a suite's tasks as those of rollouts and of the command ``score``."""
    return [
        TaskRecord(
            id=task.id, problem_statement=task.text, ground_truth=task.expected, qa_type="exact",
            domain=suite.domain, input_files=task.inputs, expected=suite.expected(task),
        )
        for task in suite.tasks
    ]  # fmt: skip
