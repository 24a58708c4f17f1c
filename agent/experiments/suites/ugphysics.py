"""Physics: UGPhysics, undergraduate problems of 13 subjects.

A file ``<subject>/en.jsonl`` has the fields ``problem`` and ``answers``; optionally ``index``,
``subject``, ``unit``, ``answer_type`` and ``is_multiple_answer``.
"""

from collections.abc import Iterator
from pathlib import Path

from agent.experiments.suite import EvalTask, Suite
from agent.experiments.suites.records import Record, data_files, read_records
from agent.grading.judge import judge_prompt

SOURCE = "https://huggingface.co/datasets/UGPhysics/ugphysics"
PATTERNS = ("*/en.jsonl", "*/en*.parquet", "en.jsonl", "*.jsonl", "*.parquet")

JUDGE_PROMPT = judge_prompt(
    "Decide whether the final answer to a physics problem is right. Compare it with the expected "
    "answer: it is right if it states the same quantities, in the same order if there are several. "
    "Equivalent forms are the same: an expression that can be rewritten, another unit with its "
    "number converted, a number that differs by rounding only. A missing or wrong unit, sign or "
    "part is wrong.",
    "problem",
)

SUITE = Suite(
    name="ugphysics",
    title="UGPhysics",
    domain="physics",
    prompt="physics",
    scorer="judge",
    licence="CC BY-NC-SA 4.0",
    source=SOURCE,
    judge_prompt=JUDGE_PROMPT,
)


def tasks(path: Path) -> Iterator[EvalTask]:
    """Yield the tasks of a file or folder. Raises ``TaskError``."""
    counts: dict[str, int] = {}
    for record in read_records(data_files(path, PATTERNS, SOURCE)):
        group = record.optional("subject") or record.path.parent.name
        counts[group] = counts.get(group, 0) + 1
        unit = record.optional("unit").strip()
        yield EvalTask(
            id=f"{group}-{record.optional('index') or counts[group]}",
            text=record.text("problem") + (f"\n\nUnit of the answer: {unit}" if unit else ""),
            expected=" ".join(part for part in (_answers(record), unit) if part),
            scorer="judge",
            group=group,
            arguments={
                name: record.fields[name]
                for name in ("answer_type", "is_multiple_answer")
                if isinstance(record.fields.get(name), str | bool)
            },
        )


def _answers(record: Record) -> str:
    """Return the right answers; a list of several as one text."""
    if isinstance(record.fields.get("answers"), list):
        return ", ".join(record.list_of("answers", str))
    return record.text("answers", "answer")
