"""Chores made from a seed: a kind's draft, put into the words of a frame.

Splits: ``parameters`` has names, values and numbers that are never trained on, in the words of
training; ``wording`` has sentences that are never trained on.
"""

from collections.abc import Iterator, Mapping

from agent.errors import TaskError
from agent.tasks.chores import checks, documents, outside, reckoning, tables, texts
from agent.tasks.chores.chore import REFUSAL, Chore, Draft, Split
from agent.tasks.chores.drawing import Draw, Make
from agent.tasks.chores.words import Part, chosen, dressed, wordings
from agent.tasks.generator.dice import Dice

FAMILIES: Mapping[str, Mapping[str, Make]] = {
    **texts.FAMILIES,
    **tables.FAMILIES,
    **reckoning.FAMILIES,
    **documents.FAMILIES,
    **outside.FAMILIES,
}
_TRIES = 200


def families() -> tuple[str, ...]:
    """The families of chores; ``outside`` is what is to be refused."""
    return tuple(FAMILIES)


def kinds(family: str) -> tuple[str, ...]:
    """The kinds of a family."""
    return tuple(FAMILIES[family])


def chores(split: Split, count: int, seed: int, family: str = "") -> Iterator[Chore]:
    """Make chores, the same for the same arguments; no two have the same text and files.

    Args:
        split: What of them is held out of training.
        count: How many.
        seed: Another one makes other chores.
        family: One of ``families()``; empty for all, in turn.

    Raises:
        TaskError: there is no such family, or there are not as many different chores.
    """
    if family and family not in FAMILIES:
        raise TaskError(f"family: there is none named {family!r}; {', '.join(families())}.")
    picked = [family] if family else families()
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for number in range(count):
        name = picked[number % len(picked)]
        kind = kinds(name)[number // len(picked) % len(kinds(name))]
        yield _new(name, kind, split, f"{seed}-{number:05}", seen)


def _new(
    family: str, kind: str, split: Split, number: str, seen: set[tuple[str, tuple[str, ...]]]
) -> Chore:
    for attempt in range(_TRIES):
        dice = Dice("chore", family, kind, split, number, attempt)
        made = _made(family, kind, split, dice, f"{family}-{kind}-{split}-{number}")
        known = (made.text, tuple(made.input_files))
        if known not in seen:
            seen.add(known)
            return made
    raise TaskError(f"{family}: there are not as many different chores of the kind {kind}.")


def _made(family: str, kind: str, split: Split, dice: Dice, name: str) -> Chore:
    worded: Part = "held_out" if split == "wording" else "train"
    # What lies outside is told by its values: a wording held out speaks of a topic held out.
    kept = split == "parameters" or (split == "wording" and family == "outside")
    part: Part = "held_out" if kept else "train"
    frame = chosen(dice.pick(wordings(worded)[family][kind]), dice)
    draw = Draw(dice, part, worded, frame)
    draft = FAMILIES[family][kind](draw)
    for clause in ("to", "then", "range"):
        if not draw.slots[clause]:
            frame = frame.replace(f"{{{clause}}}", "")
    text = dressed(frame, dice, worded).format_map(draw.slots)
    return Chore(
        id=name,
        family=family,
        kind=kind,
        text=text,
        input_files=dict(sorted(draw.files.items())),
        ways=draft.ways,
        shown=draft.shown,
        said=_said(draft, draw),
        check=_check(draft, draw),
    )


def _said(draft: Draft, draw: Draw) -> str:
    return f"Done: {draw.out_path or 'output/'}" if draft.ways else REFUSAL


def _check(draft: Draft, draw: Draw) -> checks.Check:
    if draft.several is not None:
        return draft.several
    if draft.test is None:
        raise TaskError("A draft says neither what its file nor what its files must be.")
    return checks.at(draw.out_path, draft.test, named=draw.named)
