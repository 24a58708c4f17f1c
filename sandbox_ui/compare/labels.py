"""Labels of members."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from agent.compare.comparison import MAX_LABEL, Member
from agent.events import Mode
from agent.models.builtin.install import BUILTIN_ID, BUILTIN_NAME

_MODE_LABELS: dict[Mode, str] = {"plain": "Without sandbox", "sandbox": "With sandbox"}


def labelled(members: Sequence[Member]) -> list[Member]:
    """Return members with the given labels, or else with what distinguishes them."""
    models = {member.model for member in members}
    modes = {member.mode for member in members}
    labelled = [
        replace(each, label=each.label or _default_label(each, models, modes)) for each in members
    ]
    return with_distinct_labels(labelled)


def with_distinct_labels(members: Sequence[Member]) -> list[Member]:
    """Return members with numbers after those labels that occur more than once."""
    counts, seen = Counter(member.label for member in members), Counter[str]()
    numbered = []
    for member in members:
        label = member.label
        seen[label] += 1
        suffix = f" {seen[label]}" if counts[label] > 1 else ""
        numbered.append(replace(member, label=f"{label[: MAX_LABEL - len(suffix)]}{suffix}"))
    return numbered


def _default_label(member: Member, models: set[str], modes: set[Mode]) -> str:
    name = BUILTIN_NAME if member.model == BUILTIN_ID else member.model
    if len(models) == 1:
        return _MODE_LABELS[member.mode]
    return f"{name}, {_MODE_LABELS[member.mode].lower()}" if len(modes) > 1 else name
