"""Generate file tasks from a seed: a kind's draft, worded with a template.

Splits: ``parameters`` combines held-out names, values and numbers with training wordings;
``wording`` uses held-out wordings.
"""

from collections.abc import Iterator, Mapping

from agent.errors import TaskError
from agent.tasks.document_qa.rng import Dice
from agent.tasks.file_tasks import checks
from agent.tasks.file_tasks.families import arithmetic, documents, out_of_scope, tables, texts
from agent.tasks.file_tasks.sampler import Draw, Make
from agent.tasks.file_tasks.task import REFUSAL, Chore, Draft, Split
from agent.tasks.file_tasks.wording import Part, chosen, dressed, wordings

FAMILIES: Mapping[str, Mapping[str, Make]] = {
    **texts.FAMILIES,
    **tables.FAMILIES,
    **arithmetic.FAMILIES,
    **documents.FAMILIES,
    **out_of_scope.FAMILIES,
}
_TRIES = 200


def families() -> tuple[str, ...]:
    """Return the families of file tasks; the model must refuse tasks of ``outside``."""
    return tuple(FAMILIES)


def kinds(family: str) -> tuple[str, ...]:
    """Return the kinds of a family."""
    return tuple(FAMILIES[family])


def chores(split: Split, count: int, seed: int, family: str = "") -> Iterator[Chore]:
    """Generate file tasks, deterministically; no two share both text and file names.

    Args:
        split: What is held out of training.
        count: Number of tasks.
        seed: Random seed.
        family: One of ``families()``; empty for all, in turn.

    Raises:
        TaskError: the family does not exist, or there are fewer than ``count`` distinct tasks.
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
    # Values identify an out-of-scope task, so a held-out wording gets held-out values too.
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
