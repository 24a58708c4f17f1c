"""Members as they are written in a program or on a command line: ``plain,model=NAME``."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from agent.errors import UsageError
from agent.experiments.experiment import MAX_LABEL, Member, varying_fields
from agent.models.base import ModelConfig
from agent.models.builtin.install import BUILTIN_ID, BUILTIN_NAME
from agent.models.parameters import PARAMETERS, InvalidValue
from agent.run_fields import FIELDS
from agent.util.text import one_line

_NAMES = {"plain": "Without sandbox", "sandbox": "With sandbox"}


_FIELDS = {
    each.option: each
    for each in FIELDS
    if each.name not in ("task", "inputs", "hosts", "image", "memory", "approve")
}


def parse_member(
    text: str, extra: Sequence[str] = (), mode: str = "sandbox"
) -> tuple[Member, dict[str, str]]:
    """Parse a member: ``plain`` or ``sandbox``, and ``key=value`` pairs, separated by commas.

    Its label and model are empty where they are missing; the ``extra`` pairs are returned apart.
    """
    label, values = "", {"mode": mode}
    further: dict[str, str] = {}
    for part in _parts(text):
        key, equals, value = part.partition("=")
        key = key.strip().replace("_", "-")
        if not equals and part in _NAMES:
            values["mode"] = part
        elif equals and key in extra:
            further[key] = value
        elif equals and key == "label":
            label = value.strip()
        elif equals and key in _FIELDS:
            try:
                values[_FIELDS[key].name] = _FIELDS[key].parse(value)
            except InvalidValue as error:
                raise _refusal(text, str(error.named(key))) from None
        else:
            known = ", ".join(("label", *_FIELDS, *extra))
            raise _refusal(text, f"“{part:.60}” is none of plain, sandbox, {known}.")
    return Member.of(values, label=label), further


def _parts(text: str) -> list[str]:
    """Return the parts between commas; commas within braces belong to JSON."""
    parts, depth = [""], 0
    for character in text:
        depth = max(0, depth + {"{": 1, "[": 1, "}": -1, "]": -1}.get(character, 0))
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def parse_in_modes(text: str, extra: Sequence[str] = ()) -> list[tuple[Member, dict[str, str]]]:
    """Parse a member; one that names no mode stands for both. See ``parse_member``."""
    if any(part in _NAMES or part.startswith("mode=") for part in _parts(text)):
        return [parse_member(text, extra)]
    both = [parse_member(text, extra, mode) for mode in _NAMES]
    return [
        (replace(each, label=each.label and f"{each.label}, {_NAMES[each.mode]}"), further)
        for each, further in both
    ]


def _refusal(text: str, why: str) -> UsageError:
    return UsageError(f"The member “{one_line(text):.200}”: {why}")


def complete(members: Iterable[Member], model: str) -> tuple[Member, ...]:
    """Return members with a model (empty: the built-in one) and with different labels."""
    named = [
        each if each.model or each.base_url else replace(each, model=model or BUILTIN_ID)
        for each in members
    ]
    check_labels(named)
    automatic = _labels(named)
    labels = [each.label or label for each, label in zip(named, automatic, strict=True)]
    return tuple(
        replace(each, label=label if each.label or labels.count(label) == 1 else f"{label} {at}")
        for at, (each, label) in enumerate(zip(named, labels, strict=True), 1)
    )


def check_labels(members: Iterable[Member]) -> None:
    """Raise ``UsageError`` if two members were given the same label."""
    counts = Counter(each.label for each in members if each.label)
    for label, count in counts.items():
        if count > 1:
            raise UsageError(f"{count} members have the label “{label:.80}”. Give each its own.")


def with_parameters(members: Iterable[Member], models: Mapping[str, object]) -> tuple[Member, ...]:
    """Return members with the request parameters that their endpoints set, for the record."""
    configs = ((each, models.get(each.label)) for each in members)
    return tuple(
        member.completed({each.name: getattr(config, each.field) for each in PARAMETERS})
        if isinstance(config, ModelConfig)
        else member
        for member, config in configs
    )


def _labels(members: Sequence[Member]) -> list[str]:
    """Return labels of what distinguishes members, and no more than that."""
    varying = varying_fields(members) if members else ()
    first: list[str] = [name for name in ("model", "mode") if name in varying]
    if len({each.mode for each in members}) == len(members):
        first = ["mode"]
    others = [name for name in varying if name not in ("model", "mode", "base_url", "hosts")]
    shown = first
    for name in others:
        if len({_label(each, shown) for each in members}) == len(members):
            break
        shown = [*shown, name]
    return [_label(each, shown or ["mode"]) for each in members]


def _label(member: Member, names: Sequence[str]) -> str:
    parts = []
    for name in names:
        value = getattr(member, name)
        if name == "model":
            parts.append(BUILTIN_NAME if value == BUILTIN_ID else value)
        elif name == "mode":
            parts.append(_NAMES[member.mode])
        elif value is not None:
            shown = {True: "on", False: "off"}[value] if isinstance(value, bool) else value
            parts.append(f"{name.replace('_', ' ')} {shown}")
    return one_line(", ".join(parts) or _NAMES[member.mode])[: MAX_LABEL - 3]
