"""The top of a run's report: the task, how it ended, its figures and its settings."""

from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from agent.events import RunStarted, SandboxReady, Totals
from agent.installation import DISTRIBUTION_NAME
from agent.report import markdown
from agent.report.charts import capability_strip, token_chart
from agent.report.html import Html, el, join
from agent.report.source import Source
from agent.report.words import moment, number, seconds, status_label, status_tone
from agent.runs.state import RunState
from agent.titles import title_for_task
from agent.util.text import format_size, plural

_MAX_TASK = 20_000
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


def overview(head: Head, source: Source) -> Html:
    """Return the section with the figures, the charts and the settings."""
    state = head.state
    last = state.rounds[-1] if state.rounds else None
    answer = last.answer if last else ""
    problem = last.reason if last else ""
    return el(
        "section",
        el("h2", "Result", class_="visually-hidden"),
        el("p", problem, class_="problem") if problem else None,
        el("div", el("h3", "Answer"), markdown.render(answer[:_MAX_TASK]), class_="answer")
        if answer else None,
        totals_list(state.current_totals, head),
        capability_strip([step.used for step in state.steps]) if state.mode == "sandbox" else None,
        token_chart(state),
        el("details", el("summary", "Settings and versions"), _settings(head, source)),
        class_="overview",
        id="overview",
    )  # fmt: skip


def heading(title: str, status: str | None, *details: str) -> Html:
    """Return the header of a report."""
    return el(
        "header",
        el("h1", title),
        el("p",
           el("span", status_label(status), class_="pill", data_tone=status_tone(status)),
           *(el("span", each, class_="pill") for each in details if each),
           class_="pills"),
        class_="report-header",
    )  # fmt: skip


def totals_list(totals: Totals, head: Head) -> Html:
    """Return the totals of a run."""
    about = totals.estimated
    tokens = totals.metered and totals.steps > 0
    rows = [
        ("Steps", f"{totals.steps:,}"),
        ("Tokens in", number(totals.prompt_tokens, about=about) if tokens else ""),
        ("Tokens out", number(totals.generated_tokens, about=about) if tokens else ""),
        ("Longest context", number(totals.peak_context, about=about) if tokens else ""),
        ("Model", seconds(totals.model_seconds)),
        ("Sandbox", seconds(totals.sandbox_seconds) if head.state.mode == "sandbox" else ""),
        ("From start to end", seconds(max(0.0, head.last - head.began))),
        ("Cost", "" if totals.cost is None else f"{totals.cost:.4f}"),
        ("Peak memory", "" if totals.peak_memory is None else format_size(totals.peak_memory)),
    ]
    return facts(rows, "facts totals")


def facts(rows: list[tuple[str, str]], class_: str = "facts") -> Html:
    """Return names with their values; an empty value is left out."""
    shown = [el("div", el("dt", name), el("dd", value)) for name, value in rows if value]
    return el("dl", *shown, class_=class_)


def _settings(head: Head, source: Source) -> Html:
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
        ("Sandbox ready after", seconds(ready.seconds) if ready else ""),
        ("Began", moment(head.began)),
        ("Last event", moment(head.last)),
        ("Run", state.run),
        ("Journal format", str(state.format)),
        ("Unreadable lines", str(state.unreadable or "")),
        ("Report made with", f"LLM-in-Sandbox Studio {version()}"),
    ]
    return facts(rows)


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
    """Return the parameters of the last request that every endpoint knows.

    An endpoint's own ones are for the run's owner only, and a report is for others, too.
    """
    sent = source.settings()
    known = {name: sent[name] for name in _PARAMETERS if sent.get(name) is not None}
    return ", ".join(f"{name} {value}" for name, value in known.items())[:200]


def version() -> str:
    """Return this program's version; “(checkout)” where it is not installed."""
    try:
        return metadata.version(DISTRIBUTION_NAME)
    except metadata.PackageNotFoundError:
        return "(checkout)"


def left_out(characters: int, where: str = "") -> Html:
    """Return the sentence that names what is missing of a text."""
    return el("p", f"{plural(characters, 'character')} left out{where}", class_="left-out")


def shortened(head: str, tail: str, omitted: int, **attributes: str) -> Html:
    """Return a preformatted text that says what is missing in its middle."""
    if not omitted:
        return el("pre", head, **attributes)
    return join(
        el("pre", head, **attributes), left_out(omitted, " here"), el("pre", tail, **attributes)
    )
