"""Chemistry: ChemBench4K, questions with four choices in nine subtasks.

A file ``test/<subtask>_benchmark.json`` is a list of objects with the fields ``question``, ``A``
to ``D`` and ``answer``, a letter.
"""

from collections.abc import Iterator
from pathlib import Path

from agent.experiments.suite import EvalTask, Suite
from agent.experiments.suites.records import Record, data_files, read_records
from agent.util.text import quote

SOURCE = "https://huggingface.co/datasets/AI4Chem/ChemBench4K"
PATTERNS = ("test/*_benchmark.json", "*_benchmark.json", "test/*.parquet", "*.parquet")

SUITE = Suite(
    name="chembench",
    title="ChemBench4K",
    domain="chemistry",
    prompt="chemistry",
    scorer="letter",
    licence="MIT",
    source=SOURCE,
)
LETTERS = "ABCD"


def tasks(path: Path) -> Iterator[EvalTask]:
    """Yield the tasks of a file or folder. Raises ``TaskError``."""
    counts: dict[str, int] = {}
    for record in read_records(data_files(path, PATTERNS, SOURCE)):
        group = record.path.stem.removesuffix("_benchmark")
        counts[group] = counts.get(group, 0) + 1
        yield EvalTask(
            id=f"{group}-{counts[group]}",
            text=question_with_choices(
                record.text("question"), {each: record.text(each) for each in LETTERS}
            ),
            expected=letter(record, "answer", LETTERS),
            choices=LETTERS,
            scorer="letter",
            group=group,
        )


def question_with_choices(question: str, choices: dict[str, str]) -> str:
    """Return a question followed by its choices, one per line."""
    lines = [f"{name}. {text.strip()}" for name, text in choices.items()]
    return "\n".join([question.strip(), "", *lines])


def letter(record: Record, field: str, letters: str) -> str:
    """Return the letter of the right choice. Raises ``TaskError`` if it is not one of these."""
    found = record.text(field).strip().upper()
    if len(found) != 1 or found not in letters:
        raise record.error(field, f"{quote(found)} is not one of {', '.join(letters)}")
    return found
