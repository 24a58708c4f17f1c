"""The passport of a model: what is known of it at an endpoint, and how it was found out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.util.text import plural

MAX_TEXT = 300
_MAX_ADDRESS = 8192
_LABELS = {
    "reachable": "Reachable",
    "key": "API key",
    "models": "Models offered",
    "server": "Server",
    "api": "API",
    "streams": "Streams",
    "tools": "Calls tools",
    "parallel_tools": "Parallel calls",
    "reasoning": "Reasoning",
    "reasoning_returned": "Reasoning must come back",
    "images": "Images",
    "context": "Context length",
    "caching": "Prompt caching",
    "seed": "Seed",
    "speed": "Speed",
    "left_out": "Not sent",
}
NOT_KNOWN = "not known"
Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about a model, None if unknown, and a phrase for how it was found out or why not."""

    value: Value | None = None
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passport:
    """What is known of a model at an endpoint; times are in seconds since the epoch.

    ``base_url`` has no query; a ``problem`` ended the test early; ``listing`` is a digest of the
    server's entry on the model; ``changed`` is when it said something else than at the test, or 0.
    """

    base_url: str
    model: str
    tested: float = 0.0
    problem: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    learned: Mapping[str, Any] = field(default_factory=dict)
    listing: str = ""
    changed: float = 0.0
    prompt_tokens: int = 0
    generated_tokens: int = 0

    @property
    def is_fresh(self) -> bool:
        """Whether the model was tested, and its server says the same as it did then."""
        return bool(self.facts) and not self.problem and not self.changed

    @property
    def context_tokens(self) -> int | None:
        """The length of the model's context in tokens; None if it is not known."""
        value = self.value("context")
        return value if isinstance(value, int) and value > 0 else None

    def value(self, name: str) -> Value | None:
        """Return what is known of a fact; None if it is not."""
        return self.facts[name].value if name in self.facts else None

    def lines(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield each fact for people: its name, its label, what is known, and how."""
        for name, label in _LABELS.items():
            fact = self.facts.get(name, Fact())
            if fact.value is not None or name not in ("models", "left_out"):
                yield name, label, _as_text(name, fact.value), fact.source

    def to_json(self) -> dict[str, Any]:
        """Return it as it is stored and recorded."""
        return {
            "base_url": self.base_url, "model": self.model, "tested": self.tested,
            "problem": self.problem,
            "facts": {name: [fact.value, fact.source] for name, fact in self.facts.items()},
            "learned": dict(self.learned), "listing": self.listing,
            "changed": self.changed,
            "prompt_tokens": self.prompt_tokens, "generated_tokens": self.generated_tokens,
        }  # fmt: skip

    def provenance(self) -> dict[str, Any]:
        """Return what a run records of it: the facts and when they were found out, no address."""
        return {
            "tested": self.tested, "changed": self.changed, "facts": self._facts_for_people(),
        }  # fmt: skip

    def for_people(self) -> dict[str, Any]:
        """Return it as the page shows it."""
        return {
            "baseUrl": self.base_url, "model": self.model, "tested": self.tested,
            "changed": self.changed, "problem": self.problem,
            "tokens": self.prompt_tokens + self.generated_tokens,
            "facts": self._facts_for_people(),
            "contextTokens": self.context_tokens,
        }  # fmt: skip

    def _facts_for_people(self) -> list[dict[str, Any]]:
        names = ("name", "label", "text", "source")
        return [
            dict(zip(names, line, strict=True)) | {"known": line[2] != NOT_KNOWN}
            for line in self.lines()
        ]


def from_json(value: object) -> Passport:
    """Return what ``Passport.to_json`` returned; raise ``ValueError`` if it is no passport."""
    if not isinstance(value, Mapping) or not isinstance(value.get("model"), str):
        raise ValueError("no passport")
    facts = value.get("facts")
    learned = value.get("learned")
    return Passport(
        base_url=_text(value.get("base_url"), _MAX_ADDRESS),
        model=_text(value["model"], _MAX_ADDRESS),
        tested=_number(value.get("tested")),
        problem=_text(value.get("problem")),
        facts={
            name: Fact(each[0], _text(each[1]))
            for name, each in (facts.items() if isinstance(facts, Mapping) else ())
            if name in _LABELS and isinstance(each, list) and len(each) == 2
            and isinstance(each[0], Value | None)
        },
        learned=learned if isinstance(learned, Mapping) else {},
        listing=_text(value.get("listing")),
        changed=_number(value.get("changed")),
        prompt_tokens=int(_number(value.get("prompt_tokens"))),
        generated_tokens=int(_number(value.get("generated_tokens"))),
    )  # fmt: skip


def as_text(passport: Passport) -> str:
    """Return a passport as lines of text."""
    lines = [f"{passport.model} at {passport.base_url}"]
    shown = passport.lines()
    if passport.problem:
        shown = (line for line in shown if line[2] != NOT_KNOWN)
    lines += [
        f"  {label + ':':26}{text}{f' ({source})' if source else ''}"
        for _, label, text, source in shown
    ]
    return "\n".join(lines)


def _as_text(name: str, value: Value | None) -> str:
    if value is None:
        return NOT_KNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "context":
        return plural(int(value), "token")
    if name == "speed":
        return f"{value:,.1f} tokens per second"
    return str(value)


def _text(value: object, maximum: int = MAX_TEXT) -> str:
    return value[:maximum] if isinstance(value, str) else ""


def _number(value: object) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known and 0 <= value < 1e15 else 0.0  # type: ignore[operator,arg-type]
