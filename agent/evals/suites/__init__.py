"""The suites of the paper's six domains, from the authors' data or a packaged sample.

A sample has a few tasks of this project's own, in the form in which the authors publish theirs.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from agent.errors import TaskError
from agent.evals.suite import EvalTask, Suite, SuiteLimits
from agent.evals.suites import aa_lcr, aime, chembench, ifbench, medxpertqa, ugphysics
from agent.tasks.task import quote

SAMPLES = Path(__file__).parent / "samples"

_Loader = Callable[[Path], Iterator[EvalTask]]

_SUITES: dict[str, tuple[Suite, _Loader]] = {
    suite.name: (suite, loader)
    for suite, loader in (
        (
            Suite(
                name="aime",
                title="AIME 2025",
                domain="mathematics",
                tasks=(),
                prompt="math",
                scorer="math",
                licence="see the page; the problems are © Mathematical Association of America",
                source=aime.SOURCE,
                repetitions=16,
            ),
            aime.tasks,
        ),
        (
            Suite(
                name="ugphysics",
                title="UGPhysics",
                domain="physics",
                tasks=(),
                prompt="physics",
                scorer="judge",
                licence="CC BY-NC-SA 4.0",
                source=ugphysics.SOURCE,
                judge_prompt=ugphysics.JUDGE_PROMPT,
            ),
            ugphysics.tasks,
        ),
        (
            Suite(
                name="chembench",
                title="ChemBench4K",
                domain="chemistry",
                tasks=(),
                prompt="chemistry",
                scorer="letter",
                licence="MIT",
                source=chembench.SOURCE,
            ),
            chembench.tasks,
        ),
        (
            Suite(
                name="medxpertqa",
                title="MedXpertQA Text",
                domain="biomedicine",
                tasks=(),
                prompt="biomed",
                scorer="letter",
                licence="MIT",
                source=medxpertqa.SOURCE,
            ),
            medxpertqa.tasks,
        ),
        (
            Suite(
                name="aa_lcr",
                title="AA-LCR",
                domain="long context",
                tasks=(),
                prompt="long_context",
                scorer="judge",
                licence="Apache-2.0",
                source=aa_lcr.SOURCE,
                limits=SuiteLimits(conversation_tokens=131_072),
                repetitions=4,
                judge_prompt=aa_lcr.JUDGE_PROMPT,
            ),
            aa_lcr.tasks,
        ),
        (
            Suite(
                name="ifbench",
                title="IFBench",
                domain="instruction following",
                tasks=(),
                prompt="instruction_following",
                scorer="rules",
                licence="ODC-BY 1.0",
                source=ifbench.SOURCE,
            ),
            ifbench.tasks,
        ),
    )
}

NAMES: tuple[str, ...] = tuple(_SUITES)
"""The names of all suites, in the order of the paper's figure."""


def describe(name: str) -> Suite:
    """Return a suite without its tasks. Raises ``TaskError`` if there is none of this name."""
    if name not in _SUITES:
        raise TaskError(f"There is no suite {quote(name)}. Choose one of {', '.join(NAMES)}.")
    return _SUITES[name][0]


def load(name: str, path: Path | None = None) -> Suite:
    """Load a suite.

    Args:
        name: The suite.
        path: The authors' data, a file or folder; None for the packaged sample. Any file can be
            read, so take it from the operator only, never from a remote user.

    Raises:
        TaskError: There is no such suite, or its data is missing or invalid; the text names the
            file, the line and the field.
    """
    suite = describe(name)
    tasks = tuple(_SUITES[name][1](SAMPLES / name if path is None else path))
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise TaskError(f"{path or name}: two tasks have the id {quote(task.id)}.")
        seen.add(task.id)
    return replace(suite, tasks=tasks, sample=path is None)
