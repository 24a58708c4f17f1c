"""What the built-in model does not know: the right thing is to say so, and to make nothing."""

from agent.tasks.chores.chore import Draft, Files, outputs
from agent.tasks.chores.drawing import Draw, Make


def _nothing_made(files: Files) -> bool:
    return not outputs(files)


def refuse(draw: Draw) -> Draft:
    """A task of another kind; now and then files come with it."""
    for slot in ("topic", "program", "language", "fact_question", "chat"):
        if draw.asks(slot):
            draw.slots[slot] = draw.one(slot)
    if draw.asks("phrase"):
        draw.slots["phrase"] = draw.quoted(draw.one("phrase"))
    if not draw.dice.below(5):
        draw.add_other()
    return Draft((), several=_nothing_made)


_KINDS = ("essay", "research", "translate", "code", "knowledge", "chat")
FAMILIES: dict[str, dict[str, Make]] = {"outside": dict.fromkeys(_KINDS, refuse)}
