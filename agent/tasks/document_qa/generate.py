"""Generate document tasks from a seed: draft, wording and answer format.

Each split except ``train`` holds one thing out of training: ``wording`` (training families and
names, held-out wordings), ``names`` (held-out entities) or ``family`` (held-out families).
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path

import yaml

from agent.errors import TaskError
from agent.tasks.document_qa import business, daily, held_out, prose, single_fact
from agent.tasks.document_qa.draft import (
    LEVELS,
    SHAPES,
    Again,
    Answer,
    Draft,
    Family,
    Money,
    Name,
    NameSet,
    Split,
    Time,
    Word,
    long_date,
)
from agent.tasks.document_qa.names import Names, Part
from agent.tasks.document_qa.rng import Dice
from agent.tasks.task import Problem, QaType

TRAINED: Mapping[str, Family] = {
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
HELD_OUT: Mapping[str, Family] = {
    "loans": held_out.loans,
    "readings": held_out.readings,
    "secrets": single_fact.secrets,
}

_TRIES = 500
_OPTIONS = "ABCDEF"


def families(split: Split) -> tuple[str, ...]:
    """Return the families of a split."""
    return tuple(HELD_OUT if split == "family" else TRAINED)


def problems(
    split: Split,
    count: int,
    seed: int,
    family: str = "",
    levels: Sequence[int] = LEVELS,
    question: str = "",
) -> Iterator[Problem]:
    """Generate tasks with distinct questions, deterministically from the arguments.

    Args:
        split: What is held out of training.
        count: Number of tasks.
        seed: Random seed.
        family: One of ``families(split)``; empty for all, in turn.
        levels: Difficulty levels from 1 to 5, used in turn.
        question: Only this question of the family, as named in ``wordings``; empty for all.

    Raises:
        TaskError: the family or the question does not exist, or there are fewer than ``count``
            distinct tasks.
    """
    if family and family not in families(split):
        known = ", ".join(families(split))
        raise TaskError(f"family: the split {split} has none named {family!r}; it has {known}.")
    if question and question not in wordings().get(family, {}):
        known = ", ".join(wordings().get(family, {}))
        raise TaskError(f"question: {family or 'no family'} asks no {question!r}, but {known}.")
    seen: set[str] = set()
    chosen = [family] if family else families(split)
    for number in range(count):
        name = chosen[number % len(chosen)]
        level = levels[number // len(chosen) % len(levels)]
        problem = _new(name, split, level, f"{seed}-{number:05}", seen, question)
        seen.add(problem.problem_statement)
        yield problem


def _new(
    family: str, split: Split, level: int, number: str, seen: set[str], question: str
) -> Problem:
    for attempt in range(_TRIES):
        dice = Dice(family, split, level, number, attempt)
        try:
            made = draft(family, split, level, dice)
        except Again:
            continue
        if question and made.question != question:
            continue
        asks = f"{family}.{question}" if question else family
        problem = _put(made, dice, family, split, f"{asks}-{split}-{level}-{number}")
        if problem.problem_statement not in seen:
            return problem
    raise TaskError(f"{family}: there are no {len(seen) + 1} different tasks of this kind.")


def draft(family: str, split: Split, level: int, dice: Dice) -> Draft:
    """Generate a task without its wording. Raises ``Again`` if a retry is needed."""
    part: Part = "held_out" if split == "names" else "train"
    return {**TRAINED, **HELD_OUT}[family](dice, SHAPES[level], Names(dice, part))


def _put(made: Draft, dice: Dice, family: str, split: Split, name: str) -> Problem:
    part: Part = "held_out" if split == "wording" else "train"
    asked_in = wordings()[family][made.question]["held_out" if split == "family" else part]
    wording = dice.pick(asked_in).format(**made.slots)
    form, options, truth, qa_type = _form(made.answer, dice)
    asked = f"{wording} {dice.pick(wordings()['formats'][form][part])}"
    listed = [f"{letter}. {option}" for letter, option in zip(_OPTIONS, options, strict=False)]
    statement = "\n".join([asked, *listed])
    files = {each: made.files[each] for each in dice.shuffled(list(made.files))}
    return Problem(name, statement, truth, qa_type, family, files)


@cache
def wordings() -> Mapping[str, Mapping[str, Mapping[Part, Sequence[str]]]]:
    """Load the wordings.

    Returns:
        Family → question → part → wordings, and ``formats`` → form → part → wordings.
    """
    path = Path(__file__).with_name("wordings.yaml")
    found: dict[str, dict[str, dict[Part, list[str]]]] = yaml.safe_load(
        path.read_text(encoding="utf-8")
    )
    return found


def _form(answer: Answer, dice: Dice) -> tuple[str, list[str], str, QaType]:
    """Choose an answer format; return its name, options, correct answer and type."""
    if isinstance(answer, Name | NameSet) and answer.others and not dice.below(3):
        return _choice(answer, dice)
    form, truth = dice.pick(list(_texts(answer).items()))
    return form, [], truth, "exact"


def _choice(answer: Name | NameSet, dice: Dice) -> tuple[str, list[str], str, QaType]:
    several = isinstance(answer, NameSet)
    right = dice.some(sorted(answer.names), 3) if isinstance(answer, NameSet) else [answer.name]
    options = dice.shuffled([*right, *dice.some(answer.others, (6 if several else 4) - len(right))])
    letters = (letter for letter, option in zip(_OPTIONS, options, strict=False) if option in right)
    truth = "".join(letters)
    return ("some", options, truth, "multiple_choice") if several else (
        "one", options, truth, "single_choice")  # fmt: skip


def _texts(answer: Answer) -> dict[str, str]:
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
        case Name(name):
            return {"plain": name, "capitals": name.upper()}
        case Word(text):
            return {"word": text}
        case NameSet(names):
            return {"commas": ", ".join(sorted(names)), "lines": "\n".join(sorted(names))}
    four_digits = {"padded": f"{answer:04}"} if 0 <= answer <= 9_999 else {}
    return {"digits": str(answer), **four_digits}
