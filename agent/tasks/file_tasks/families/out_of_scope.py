"""Out-of-scope tasks: the built-in model must refuse them and create no files."""

from agent.tasks.file_tasks.sampler import Draw, Make
from agent.tasks.file_tasks.task import Draft, Files, outputs


def _nothing_made(files: Files) -> bool:
    return not outputs(files)


def refuse(draw: Draw) -> Draft:
    """Generate an out-of-scope task, sometimes with input files."""
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
