"""Generate document tasks from a seed: draft, wording and answer format.

Each split except ``train`` holds one thing out: ``wording``, ``names`` or ``family``.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path

import yaml

from agent.errors import TaskError
from agent.tasks.document_qa import business, daily, held_out, prose, single_fact
from agent.tasks.document_qa.draft import (
    DIFFICULTIES,
    LEVELS,
    AmbiguousDraft,
    Answer,
    Family,
    Money,
    NameAnswer,
    NameSetAnswer,
    Split,
    TaskDraft,
    TextAnswer,
    Time,
    long_date,
)
from agent.tasks.document_qa.names import NamePool, Part
from agent.tasks.document_qa.rng import Rng
from agent.tasks.task import QaType, TaskRecord

TRAIN_FAMILIES: Mapping[str, Family] = {
    "letters": prose.letters,
    "minutes": prose.minutes,
    "notes": prose.notes,
    "invoices": business.invoices,
    "sales": business.sales,
    "stock": business.stock,
    "timetable": daily.timetable,
    "recipes": daily.recipes,
    "staff": daily.staff,
    "logs": daily.logs,
    "codes": single_fact.codes,
    "homes": single_fact.homes,
    "makers": single_fact.makers,
}
HELD_OUT_FAMILIES: Mapping[str, Family] = {
    "loans": held_out.loans,
    "readings": held_out.readings,
    "secrets": single_fact.secrets,
}

_MAX_ATTEMPTS = 500
_OPTIONS = "ABCDEF"


def families(split: Split) -> tuple[str, ...]:
    """Return the families of a split."""
    return tuple(HELD_OUT_FAMILIES if split == "family" else TRAIN_FAMILIES)


def generate_tasks(
    split: Split,
    count: int,
    seed: int,
    family: str = "",
    levels: Sequence[int] = LEVELS,
    question: str = "",
) -> Iterator[TaskRecord]:
    """Generate distinct tasks; an empty ``family`` or ``question`` means all. ``TaskError``."""
    if family and family not in families(split):
        known = ", ".join(families(split))
        raise TaskError(
            f"family: the split {split} has no family {family!r}; its families are {known}."
        )
    if question and question not in load_wordings().get(family, {}):
        known = ", ".join(load_wordings().get(family, {}))
        raise TaskError(
            f"question: {family or 'without a family there'} has no question {question!r}; "
            f"the questions are {known}."
        )
    seen: set[str] = set()
    chosen = [family] if family else families(split)
    for number in range(count):
        name = chosen[number % len(chosen)]
        level = levels[number // len(chosen) % len(levels)]
        task = _generate_one(name, split, level, f"{seed}-{number:05}", seen, question)
        seen.add(task.problem_statement)
        yield task


def _generate_one(
    family: str, split: Split, level: int, number: str, seen: set[str], question: str
) -> TaskRecord:
    for attempt in range(_MAX_ATTEMPTS):
        rng = Rng(family, split, level, number, attempt)
        try:
            task_draft = generate_draft(family, split, level, rng)
        except AmbiguousDraft:
            continue
        if question and task_draft.question != question:
            continue
        name_prefix = f"{family}.{question}" if question else family
        task = _build_record(
            task_draft, rng, family, split, f"{name_prefix}-{split}-{level}-{number}"
        )
        if task.problem_statement not in seen:
            return task
    raise TaskError(f"{family}: there are only {len(seen)} different tasks of this kind.")


def generate_draft(family: str, split: Split, level: int, rng: Rng) -> TaskDraft:
    """Generate a task without its wording. Raises ``AmbiguousDraft`` if a retry is needed."""
    part: Part = "held_out" if split == "names" else "train"
    return {**TRAIN_FAMILIES, **HELD_OUT_FAMILIES}[family](
        rng, DIFFICULTIES[level], NamePool(rng, part)
    )


def _build_record(
    task_draft: TaskDraft, rng: Rng, family: str, split: Split, name: str
) -> TaskRecord:
    part: Part = "held_out" if split == "wording" else "train"
    templates = load_wordings()[family][task_draft.question][
        "held_out" if split == "family" else part
    ]
    wording = rng.choice(templates).format(**task_draft.slots)
    form, options, truth, qa_type = _choose_format(task_draft.answer, rng)
    question_text = f"{wording} {rng.choice(load_wordings()['formats'][form][part])}"
    listed = [f"{letter}. {option}" for letter, option in zip(_OPTIONS, options, strict=False)]
    statement = "\n".join([question_text, *listed])
    files = {each: task_draft.files[each] for each in rng.shuffled(list(task_draft.files))}
    return TaskRecord(name, statement, truth, qa_type, family, files)


@cache
def load_wordings() -> Mapping[str, Mapping[str, Mapping[Part, Sequence[str]]]]:
    """Return family → question → part → wordings, and ``formats`` → form → part → wordings."""
    path = Path(__file__).with_name("wordings.yaml")
    found: dict[str, dict[str, dict[Part, list[str]]]] = yaml.safe_load(
        path.read_text(encoding="utf-8")
    )
    return found


def _choose_format(answer: Answer, rng: Rng) -> tuple[str, list[str], str, QaType]:
    """Choose an answer format; return its name, options, correct answer and type."""
    if (
        isinstance(answer, NameAnswer | NameSetAnswer)
        and answer.distractors
        and not rng.randbelow(3)
    ):
        return _choice_format(answer, rng)
    form, truth = rng.choice(list(_answer_texts(answer).items()))
    return form, [], truth, "exact"


def _choice_format(
    answer: NameAnswer | NameSetAnswer, rng: Rng
) -> tuple[str, list[str], str, QaType]:
    several = isinstance(answer, NameSetAnswer)
    right = (
        rng.sample(sorted(answer.names), 3) if isinstance(answer, NameSetAnswer) else [answer.name]
    )
    options = rng.shuffled(
        [*right, *rng.sample(answer.distractors, (6 if several else 4) - len(right))]
    )
    letters = (letter for letter, option in zip(_OPTIONS, options, strict=False) if option in right)
    truth = "".join(letters)
    return ("some", options, truth, "multiple_choice") if several else (
        "one", options, truth, "single_choice")  # fmt: skip


def _answer_texts(answer: Answer) -> dict[str, str]:
    """Return the answer in each possible format."""
    match answer:
        case Money(cents):
            text = f"{cents // 100}.{cents % 100:02}"
            return {"decimals": text, "euro": f"{text} EUR", "comma": text.replace(".", ",")}
        case Time(minutes):
            return {"colon": str(answer), "hour": f"{minutes // 60}h{minutes % 60:02}"}
        case date():
            dots = f"{answer.day:02}.{answer.month:02}.{answer.year}"
            return {"iso": str(answer), "dots": dots, "long": long_date(answer)}
        case NameAnswer(name):
            return {"plain": name, "capitals": name.upper()}
        case TextAnswer(text):
            return {"word": text}
        case NameSetAnswer(names):
            return {"commas": ", ".join(sorted(names)), "lines": "\n".join(sorted(names))}
    four_digits = {"padded": f"{answer:04}"} if 0 <= answer <= 9_999 else {}
    return {"digits": str(answer), **four_digits}
