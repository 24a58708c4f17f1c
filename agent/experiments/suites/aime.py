"""Mathematics: AIME 2025, problems whose answers are integers from 0 to 999.

Fields: ``problem`` (or ``question``), ``answer``; optionally ``id`` or ``problem_idx``. These are
the fields of the published copies: math-ai/aime25 (JSON Lines), opencompass/AIME2025 (JSON
Lines), MathArena/aime_2025 and yentinglin/aime_2025 (Parquet).
"""

from collections.abc import Iterator
from pathlib import Path

from agent.experiments.suite import EvalTask, Suite
from agent.experiments.suites.records import data_files, read_records

SOURCE = "https://huggingface.co/datasets/math-ai/aime25"
PATTERNS = ("test.jsonl", "*.jsonl", "data/*.parquet", "*.parquet")

SUITE = Suite(
    name="aime",
    title="AIME 2025",
    domain="mathematics",
    prompt="math",
    scorer="math",
    licence="see the page; the problems are © Mathematical Association of America",
    source=SOURCE,
    repetitions=16,
)


def tasks(path: Path) -> Iterator[EvalTask]:
    """Yield the tasks of a file or folder. Raises ``TaskError``."""
    files = data_files(path, PATTERNS, SOURCE)
    for number, record in enumerate(read_records(files), start=1):
        group = record.path.stem if len(files) > 1 else ""
        name = record.optional("id", "problem_idx") or str(number)
        yield EvalTask(
            id=f"{group}-{name}" if group else name,
            text=record.text("problem", "question"),
            expected=record.text("answer"),
            scorer="math",
            group=group,
        )
