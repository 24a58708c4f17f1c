"""What a run was carried out with: its state, its settings and the versions."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from agent.events import RunStarted, SandboxReady
from agent.installation import version
from agent.report.source import Source
from agent.runs.state import RunState
from agent.titles import title_for_task

_PARAMETERS = ("temperature", "top_p", "max_tokens", "max_completion_tokens")
_LIMITS = {
    "steps": ("steps", 1),
    "conversation_tokens": ("tokens of conversation", 1),
    "turn_tokens": ("tokens of an answer", 1),
    "seconds": ("minutes", 60),
    "money": ("of cost", 1),
}


@dataclass
class Head:
    """What the journal says of a run as a whole, besides its state."""

    state: RunState
    title: str
    hosts: tuple[str, ...] = ()
    sandboxes: list[SandboxReady] = field(default_factory=list)
    began: float = 0.0
    last: float = 0.0


def read_head(source: Source) -> Head:
    """Reduce a run's journal; the state has only summaries of its steps."""
    state = RunState()
    head = Head(state, source.title)
    for cursor, event in source.events():
        state.apply(event, cursor)
        head.last = max(head.last, event.at)
        if isinstance(event, RunStarted):
            head.hosts = event.hosts
        elif isinstance(event, SandboxReady):
            head.sandboxes.append(event)
    if state.rounds:
        head.began = state.rounds[0].began
        head.title = head.title or title_for_task(state.rounds[0].text)
    head.title = head.title or "Run"
    return head


def settings(head: Head, source: Source) -> list[tuple[str, str]]:
    """Return names with their values; those that are not known are left out."""
    state = head.state
    sandbox = state.mode == "sandbox"
    ready = head.sandboxes[0] if head.sandboxes else None
    images = dict.fromkeys(each.image for each in head.sandboxes if each.image)
    rows = [
        ("Model", state.model),
        ("Mode", "sandbox" if sandbox else "plain: the documents in the prompt, no tools"),
        ("Prompt", state.prompt),
        ("Parameters", _parameters(source)),
        ("Not sent", ", ".join(state.left_out)),
        ("Conversation", "cut by the server" if state.current_totals.truncated else ""),
        ("Known of the model", _passport(state.passport)),
        ("Limits of a round", _limits(state.limits)),
        ("Network", ", ".join((state.network, *head.hosts)) if sandbox else ""),
        ("Image", ", ".join(images) or ("not recorded" if sandbox else "")),
        ("Sandbox ready after", f"{ready.seconds:.1f} s" if ready else ""),
        ("Began", _moment(head.began)),
        ("Last event", _moment(head.last)),
        ("Run", state.run),
        ("Journal format", str(state.format)),
        ("Unreadable lines", str(state.unreadable or "")),
        ("Report made with", f"LLM-in-Sandbox Studio {version()}"),
    ]
    return [(name, value) for name, value in rows if value]


def _passport(passport: dict[str, Any] | None) -> str:
    known = [each for each in (passport or {}).get("facts", ()) if each.get("known")]
    return "; ".join(f"{each['label']}: {each['text']} ({each['source']})" for each in known)


def _limits(limits: dict[str, float | None]) -> str:
    named = []
    for key, value in limits.items():
        name, unit = _LIMITS.get(key, (key, 1))
        if key == "summarise":
            named.append("older steps are summarised")
        elif value is not None:
            named.append(f"{value / unit:,.6g} {name}")
    return ", ".join(named)


def _parameters(source: Source) -> str:
    """Return the last request's usual parameters; others are for the run's owner only."""
    sent = source.settings()
    known = {name: sent[name] for name in _PARAMETERS if sent.get(name) is not None}
    return ", ".join(f"{name} {value}" for name, value in known.items())[:200]


def _moment(at: float | None) -> str:
    """Return a time of the clock, in UTC; empty if it is unknown or out of range."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if at else ""
    except (OverflowError, OSError, ValueError):
        return ""
