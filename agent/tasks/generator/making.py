"""Tasks made from a seed: a family's draft, put into words, with the form of its answer.

Splits, of which each holds one thing out of training: ``wording`` (train families and names, put
in words that are never trained on), ``names`` (entities that are never trained on), ``family``.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path

import yaml

from agent.errors import TaskError
from agent.tasks.generator import cards, daily, trade, unseen, writing
from agent.tasks.generator.dice import Dice
from agent.tasks.generator.draft import (
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
from agent.tasks.generator.names import Names, Part
from agent.tasks.record import Problem, QaType

TRAINED: Mapping[str, Family] = {
    "letters": writing.letters,
    "minutes": writing.minutes,
    "notes": writing.notes,
    "invoices": trade.invoices,
    "sales": trade.sales,
    "stock": trade.stock,
    "timetable": daily.timetable,
    "recipes": daily.recipes,
    "staff": daily.staff,
    "logs": daily.logs,
    "codes": cards.codes,
    "homes": cards.homes,
    "makers": cards.makers,
}
HELD_OUT: Mapping[str, Family] = {
    "loans": unseen.loans,
    "readings": unseen.readings,
    "secrets": cards.secrets,
}

_TRIES = 500
_OPTIONS = "ABCDEF"


def families(split: Split) -> tuple[str, ...]:
    """The families of a split."""
    return tuple(HELD_OUT if split == "family" else TRAINED)


def problems(
    split: Split,
    count: int,
    seed: int,
    family: str = "",
    levels: Sequence[int] = LEVELS,
    question: str = "",
) -> Iterator[Problem]:
    """Make tasks, the same for the same arguments; no two ask the same.

    Args:
        split: What of them is held out of training.
        count: How many.
        seed: Another one makes other tasks.
        family: One of ``families(split)``; empty for all, in turn.
        levels: How difficult they are, from 1 to 5, in turn.
        question: One of the family's questions alone, as ``wordings`` names it; empty for all.

    Raises:
        TaskError: the split has no such family, the family no such question, or there are not
            as many different ones.
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
    """A task before it is put into words. Raises ``Again`` where chance must be thrown anew."""
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
    """Family → question → part → wordings; ``formats`` → form → part → wordings."""
    path = Path(__file__).with_name("wordings.yaml")
    found: dict[str, dict[str, dict[Part, list[str]]]] = yaml.safe_load(
        path.read_text(encoding="utf-8")
    )
    return found


def _form(answer: Answer, dice: Dice) -> tuple[str, list[str], str, QaType]:
    """In which form the answer is asked for: its name, the options, what is right, its type."""
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
    """The answer in all the forms that it may be asked for in."""
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
