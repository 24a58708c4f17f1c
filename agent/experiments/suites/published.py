"""The suites whose tasks are records of data files, with the fields of their authors."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agent.errors import TaskError
from agent.experiments.suite import EvalTask, Suite
from agent.experiments.suites.records import Record, data_files, read_records
from agent.grading.judge import judge_prompt
from agent.util.text import quote

MAX_RULES = 20  # of a task
_HAS_CHOICES = re.compile(r"\bAnswer Choices:\s*\(A\)")

AIME = Suite(
    name="aime",
    title="AIME 2025",
    domain="mathematics",
    prompt="math",
    scorer="math",
    licence="see the page; the problems are © Mathematical Association of America",
    source="https://huggingface.co/datasets/math-ai/aime25",
    repetitions=16,
)
UGPHYSICS = Suite(
    name="ugphysics",
    title="UGPhysics",
    domain="physics",
    prompt="physics",
    scorer="judge",
    licence="CC BY-NC-SA 4.0",
    source="https://huggingface.co/datasets/UGPhysics/ugphysics",
    judge_prompt=judge_prompt(
        "Decide whether the final answer to a physics problem is right. Compare it with the "
        "expected answer: it is right if it states the same quantities, in the same order if there "
        "are several. Equivalent forms are the same: an expression that can be rewritten, another "
        "unit with its number converted, a number that differs by rounding only. A missing or "
        "wrong unit, sign or part is wrong.",
        "problem",
    ),
)
CHEMBENCH = Suite(
    name="chembench",
    title="ChemBench4K",
    domain="chemistry",
    prompt="chemistry",
    scorer="letter",
    licence="MIT",
    source="https://huggingface.co/datasets/AI4Chem/ChemBench4K",
)
MEDXPERTQA = Suite(
    name="medxpertqa",
    title="MedXpertQA Text",
    domain="biomedicine",
    prompt="biomed",
    scorer="letter",
    licence="MIT",
    source="https://huggingface.co/datasets/TsinghuaC3I/MedXpertQA",
)
IFBENCH = Suite(
    name="ifbench",
    title="IFBench",
    domain="instruction following",
    prompt="instruction_following",
    scorer="rules",
    licence="ODC-BY 1.0",
    source="https://huggingface.co/datasets/allenai/IFBench_test",
)

PATTERNS: Mapping[str, tuple[str, ...]] = {
    AIME.name: ("test.jsonl", "*.jsonl", "data/*.parquet", "*.parquet"),
    UGPHYSICS.name: ("*/en.jsonl", "*/en*.parquet", "en.jsonl", "*.jsonl", "*.parquet"),
    CHEMBENCH.name: ("test/*_benchmark.json", "*_benchmark.json", "test/*.parquet", "*.parquet"),
    MEDXPERTQA.name: (
        "Text/test.jsonl",
        "Text/test*.parquet",
        "medxpertqa_text_input.jsonl",
        "test.jsonl",
        "*.jsonl",
        "*.parquet",
    ),
    IFBENCH.name: ("IFBench_test.jsonl", "*.jsonl", "data/*.parquet", "*.parquet"),
}
"""The files of each suite: the first pattern that has files counts."""


def aime_tasks(path: Path) -> Iterator[EvalTask]:
    """Yield problems whose answers are integers from 0 to 999.

    Fields: ``problem`` (or ``question``), ``answer``; optionally ``id`` or ``problem_idx``: those
    of the copies math-ai/aime25 (JSON Lines), opencompass/AIME2025 (JSON Lines),
    MathArena/aime_2025 and yentinglin/aime_2025 (Parquet).
    """
    files = data_files(path, PATTERNS[AIME.name], AIME.source)
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


def ugphysics_tasks(path: Path) -> Iterator[EvalTask]:
    """Yield undergraduate problems of 13 subjects.

    A file ``<subject>/en.jsonl`` has the fields ``problem`` and ``answers``; optionally ``index``,
    ``subject``, ``unit``, ``answer_type`` and ``is_multiple_answer``.
    """
    counts = Counter[str]()
    for record in read_records(data_files(path, PATTERNS[UGPHYSICS.name], UGPHYSICS.source)):
        group = record.optional("subject") or record.path.parent.name
        counts[group] += 1
        unit = record.optional("unit").strip()
        several = isinstance(record.fields.get("answers"), list)
        answers = ", ".join(record.list_of("answers", str)) if several else (
            record.text("answers", "answer")
        )  # fmt: skip
        yield EvalTask(
            id=f"{group}-{record.optional('index') or counts[group]}",
            text=record.text("problem") + (f"\n\nUnit of the answer: {unit}" if unit else ""),
            expected=" ".join(filter(None, (answers, unit))),
            scorer="judge",
            group=group,
            arguments={
                name: record.fields[name]
                for name in ("answer_type", "is_multiple_answer")
                if isinstance(record.fields.get(name), str | bool)
            },
        )


def chembench_tasks(path: Path) -> Iterator[EvalTask]:
    """Yield questions with four choices in nine subtasks.

    A file ``test/<subtask>_benchmark.json`` is a list of objects with the fields ``question``,
    ``A`` to ``D`` and ``answer``, a letter.
    """
    letters, counts = "ABCD", Counter[str]()
    for record in read_records(data_files(path, PATTERNS[CHEMBENCH.name], CHEMBENCH.source)):
        group = record.path.stem.removesuffix("_benchmark")
        counts[group] += 1
        choices = {each: record.text(each) for each in letters}
        yield EvalTask(
            id=f"{group}-{counts[group]}",
            text=_with_choices(record.text("question"), choices),
            expected=letter_of(record, "answer", letters),
            choices=letters,
            scorer="letter",
            group=group,
        )


def medxpertqa_tasks(path: Path) -> Iterator[EvalTask]:
    """Yield text questions with up to ten choices.

    Fields: ``id``, ``question``, ``options``, ``label``; optionally ``medical_task``. The options
    are an object from letters to texts, or a list of objects with ``letter`` and ``content``, as in
    the authors' repository. A question that contains its choices already is left as it is.
    """
    for record in read_records(data_files(path, PATTERNS[MEDXPERTQA.name], MEDXPERTQA.source)):
        choices, question = _options(record), record.text("question")
        offered, has_choices = "".join(choices), _HAS_CHOICES.search(question)
        yield EvalTask(
            id=record.text("id"),
            text=question if has_choices else _with_choices(question, choices),
            expected=letter_of(record, "label", offered),
            choices=offered,
            scorer="letter",
            group=record.optional("medical_task"),
        )


def ifbench_tasks(path: Path) -> Iterator[EvalTask]:
    """Yield requests with rules that programs can check.

    ``IFBench_test.jsonl`` has the fields ``key``, ``prompt``, ``instruction_id_list`` and
    ``kwargs``: one object of arguments per rule, in which null means none.
    """
    for record in read_records(data_files(path, PATTERNS[IFBENCH.name], IFBENCH.source)):
        rules = rules_of(record)
        yield EvalTask(
            id=record.text("key"),
            text=record.text("prompt"),
            scorer="rules",
            group=rules[0]["rule"].partition(":")[0],
            arguments={"rules": rules},
        )


def _with_choices(question: str, choices: dict[str, str]) -> str:
    """Return a question followed by its choices, one per line."""
    lines = [f"{name}. {text.strip()}" for name, text in choices.items()]
    return "\n".join([question.strip(), "", *lines])


def letter_of(record: Record, field: str, letters: str) -> str:
    """Return the letter of the right choice. Raises ``TaskError`` if it is not one of these."""
    found = record.text(field).strip().upper()
    if len(found) != 1 or found not in letters:
        raise record.error(field, f"{quote(found)} is not one of {', '.join(letters)}")
    return found


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
    if len(found) < 2 or "".join(found) != "ABCDEFGHIJ"[: len(found)]:
        raise record.error("options", "must be 2 to 10 texts under A, B, C, …")
    if not all(isinstance(text, str) for text in found.values()):
        raise record.error("options", "must be texts")
    return found


def _is_pair(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(name), str) for name in ("letter", "content")
    )


def rules_of(record: Record) -> list[dict[str, Any]]:
    """Return the rules of a request, with their arguments. Raises ``TaskError``."""
    from agent.grading.rules import check_rule  # only for tasks with rules

    names, given = record.list_of("instruction_id_list", str), record.list_of("kwargs", dict)
    if not 1 <= len(names) <= MAX_RULES:
        raise record.error("instruction_id_list", f"must have 1 to {MAX_RULES} rules")
    if len(names) != len(given):
        raise record.error("kwargs", f"has {len(given)} items for {len(names)} rules")
    rules = []
    for name, arguments in zip(names, given, strict=True):
        known = {key: value for key, value in arguments.items() if value is not None}
        try:
            rules.append({"rule": name, "arguments": check_rule(name, known)})
        except TaskError as error:
            raise TaskError(f"{record.where}: {error}") from error
    return rules
