"""Biomedicine: MedXpertQA, the text questions with up to ten choices, A to J.

Fields: ``id``, ``question``, ``options``, ``label``; optionally ``medical_task``. The options are
an object from letters to texts, or a list of objects with ``letter`` and ``content``, as in the
authors' repository. A question that contains its choices already is left as it is.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from agent.experiments.suite import EvalTask, Suite
from agent.experiments.suites.chembench import letter, question_with_choices
from agent.experiments.suites.records import Record, data_files, read_records

SOURCE = "https://huggingface.co/datasets/TsinghuaC3I/MedXpertQA"
PATTERNS = ("Text/test.jsonl", "Text/test*.parquet", "medxpertqa_text_input.jsonl", "test.jsonl",
            "*.jsonl", "*.parquet")  # fmt: skip

SUITE = Suite(
    name="medxpertqa",
    title="MedXpertQA Text",
    domain="biomedicine",
    prompt="biomed",
    scorer="letter",
    licence="MIT",
    source=SOURCE,
)
LETTERS = "ABCDEFGHIJ"

_HAS_CHOICES = re.compile(r"\bAnswer Choices:\s*\(A\)")


def tasks(path: Path) -> Iterator[EvalTask]:
    """Yield the tasks of a file or folder. Raises ``TaskError``."""
    for record in read_records(data_files(path, PATTERNS, SOURCE)):
        choices, question = _options(record), record.text("question")
        offered = "".join(choices)
        yield EvalTask(
            id=record.text("id"),
            text=question if _HAS_CHOICES.search(question) else question_with_choices(
                question, choices
            ),
            expected=letter(record, "label", offered),
            choices=offered,
            scorer="letter",
            group=record.optional("medical_task"),
        )  # fmt: skip


def _options(record: Record) -> dict[str, str]:
    value = record.fields.get("options")
    if isinstance(value, list):
        pairs = [(each.get("letter"), each.get("content")) for each in value if _is_pair(each)]
        if len(pairs) < len(value):
            raise record.error("options", "must have items with letter and content")
        value = dict(pairs)
    if not isinstance(value, dict):
        raise record.error("options", "must be an object: letter → text")
    # Parquet stores all letters, with null for those that a question does not offer.
    found = {name: text for name, text in sorted(value.items()) if text is not None}
    if len(found) < 2 or "".join(found) != LETTERS[: len(found)]:
        raise record.error("options", f"must be 2 to {len(LETTERS)} texts under A, B, C, …")
    if not all(isinstance(text, str) for text in found.values()):
        raise record.error("options", "must be texts")
    return found


def _is_pair(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(name), str) for name in ("letter", "content")
    )
