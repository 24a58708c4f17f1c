"""The reports of a comparison and of an evaluation, made from the JSON that describes them."""

import base64
from collections.abc import Callable, Iterator
from typing import Any

from agent.errors import StudioError
from agent.experiments.figures import exports
from agent.report import markdown
from agent.report.charts import capability_strip, token_chart
from agent.report.html import Html, document, el, join, redacted
from agent.report.overview import facts, heading, read_head, totals_list, version
from agent.report.redaction import Redactor
from agent.report.source import Source
from agent.report.words import moment, status_label, status_tone
from agent.runs.folder import RunFolder
from agent.runs.state import CallSummary, RunState
from agent.util.text import plural

_MAX_TASKS = 2_000
_MAX_STEPS = 200
_MAX_TEXT = 20_000
_HIDDEN_SETTINGS = ("baseUrl", "extraBody", "judge")
_STATES = {"finished": "finished", "stopped": "stopped", "interrupted": "stopped"}

Description = dict[str, Any]
OpenRun = Callable[[str], RunFolder]


def parts(description: Description, open_run: OpenRun, keys: tuple[str, ...] = ()) -> Iterator[str]:
    """Return the parts of the report of an experiment; see the two functions."""
    if "results" in description:
        return evaluation_parts(description, keys)
    return comparison_parts(description, open_run, keys)


def comparison_parts(
    description: Description, open_run: OpenRun, keys: tuple[str, ...] = ()
) -> Iterator[str]:
    """Return the parts of the report of a comparison, with its runs in short.

    Args:
        description: See ``agent.experiments.description.describe``.
        open_run: Returns the folder of one of its runs; raises ``StudioError`` without it.
        keys: Keys to redact, besides those that look like one.
    """
    members = description["members"]
    details = (plural(len(members), "member"), plural(description["repetitions"], "repetition"))

    def body() -> Iterator[str]:
        yield from _opening(description, *details)
        verdict = description["verdict"]
        yield el(
            "section",
            el("p", verdict["text"], class_="verdict") if verdict["text"] else None,
            el("p", verdict["detail"]) if verdict["detail"] else None,
            el("div", el("pre", description["task"][:_MAX_TEXT], class_="words"), class_="task"),
            _expected(description["expected"]),
            _comparison_table(description),
            _figure(exports.export(description, "svg"), "The members’ figures as bars"),
            _members(description),
            class_="group",
        )
        yield Html('<section class="group"><h2>Runs</h2>\n')
        for member in members:
            for run in member["runs"]:
                yield _run(member, run, open_run)
        yield Html("</section></main>\n")

    return redacted(document(description["title"], body(), _data("comparison")), Redactor(keys))


def evaluation_parts(description: Description, keys: tuple[str, ...] = ()) -> Iterator[str]:
    """Return the parts of the report of an evaluation.

    Args:
        description: See ``agent.experiments.description.describe``.
        keys: Keys to redact, besides those that look like one.
    """
    done, total = description["counts"]["done"], description["counts"]["total"]
    counts = f"{done:,} of {plural(total, 'run')}"

    def body() -> Iterator[str]:
        yield from _opening(description, plural(len(description["members"]), "member"), counts)
        yield el(
            "section",
            _figure(exports.export(description, "svg"), "The gain of each member by domain"),
            _results_table(description),
            *(el("p", note, class_="dim") for note in exports.notes(description)),
            _suites(description["suites"]),
            _members(description),
            class_="group",
        )
        yield from _tasks(description)
        yield Html("</main>\n")

    return redacted(document(description["title"], body(), _data("evaluation")), Redactor(keys))


def _data(kind: str) -> Callable[[], object]:
    return lambda: {"kind": kind}


def _opening(description: Description, *details: str) -> Iterator[Html]:
    state = str(description["state"])
    status = None if state == "running" else _STATES.get(state, state)
    began, made = moment(description["created"]), f"LLM-in-Sandbox Studio {version()}"
    yield heading(description["title"], status, *details, began, made)
    yield Html("<main>\n")


def _expected(expected: Description | None) -> Html | None:
    if not expected:
        return None
    judge = expected.get("judge")
    rows = [
        ("Expected answer", str(expected["answer"] or "")[:_MAX_TEXT]),
        ("Compared as", str(expected["kind"])),
        ("Judge", str(judge["model"]) if judge else ""),
    ]
    return facts(rows)


def _comparison_table(description: Description) -> Html:
    labels = [el("th", member["label"], scope="col") for member in description["members"]]
    rows = []
    for group in description["table"]:
        title = el("th", group["title"], colspan=len(labels) + 1, scope="colgroup")
        rows.append(el("tr", title, class_="part"))
        for row in group["rows"]:
            cells = [_cell(cell) for cell in row["cells"]]
            rows.append(el("tr", el("th", row["label"], scope="row"), *cells))
    return _table([el("td", ""), *labels], rows, "Comparison")


def _cell(cell: Description) -> Html:
    known = cell["n"] > 1 and cell["value"] is not None
    details = (
        cell["interval"],
        f"n = {cell['n']}" if known else "",
        cell["delta"],
        cell["note"],
    )
    detail = " · ".join(str(each) for each in details if each)
    small = el("small", detail) if detail else None
    return el("td", cell["text"], small, class_="num best" if cell["best"] else "num")


def _results_table(description: Description) -> Html:
    names = [el("th", name, scope="col") for name, _ in exports.TABLE]
    rows = []
    for domain in description["results"]:
        title = el("th", exports.domain_name(domain), colspan=len(names) + 1, scope="colgroup")
        rows.append(el("tr", title, class_="part"))
        for found in domain["members"]:
            label = description["members"][found["member"]]["label"]
            cells = [el("td", value(found), class_="num") for _, value in exports.TABLE]
            rows.append(el("tr", el("th", label, scope="row"), *cells))
    return _table([el("td", ""), *names], rows, "Results")


def _table(head: list[Html], rows: list[Html], label: str) -> Html:
    table = el("table", el("thead", el("tr", *head)), el("tbody", *rows))
    return el("div", table, class_="table whole", tabindex="0", role="group", aria_label=label)


def _figure(svg: bytes, alt: str) -> Html:
    data = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
    return el("figure", el("img", src=data, alt=alt))


def _suites(suites: list[Description]) -> Html:
    rows = []
    for suite in suites:
        sample = " (sample of this project, not the authors’ data)" if suite["sample"] else ""
        tasks = plural(suite["tasks"], "task")
        text = f"{tasks}, {suite['licence']}, SHA-256 {suite['sha256']}{sample}"
        rows.append((str(suite["title"]), text))
    return el("details", el("summary", "Suites"), facts(rows))


def _members(description: Description) -> Html:
    """Return the settings of the members; addresses of endpoints are left out."""
    rows = []
    for member in description["members"]:
        settings = [
            f"{name} {value}"
            for name, value in member["settings"].items()
            if name not in _HIDDEN_SETTINGS
        ]
        baseline = ["baseline"] if member["index"] == description["baseline"] else []
        text = ", ".join([str(member["model"]), str(member["mode"]), *baseline, *settings])
        rows.append((str(member["label"]), text[:_MAX_TEXT]))
    return el("details", el("summary", "Members"), facts(rows), open_=True)


def _run(member: Description, run: Description, open_run: OpenRun) -> Html:
    """Return a run in short: its end, its figures, its steps in a line each, its answer."""
    status = run["status"] or None
    score = "" if run["score"] is None else f"score {run['score']:.2f}"
    title = f"{member['label']}, repetition {run['repetition']}"
    state = str(run["state"]) if status is None else status_label(status)
    pills = el(
        "p",
        el("span", state, class_="pill", data_tone=status_tone(status or state)),
        el("span", score, class_="pill") if score else None,
        class_="legend",
    )
    reason = el("p", run["reason"], class_="problem") if run["reason"] else None
    answer = markdown.render(run["answer"][:_MAX_TEXT]) if run["answer"] else None
    return el("article", el("h3", title), pills, reason, answer,
              _figures(str(run["run"]), open_run), class_="member-run")  # fmt: skip


def _figures(run: str, open_run: OpenRun) -> Html:
    try:
        head = read_head(Source.of(open_run(run)))
    except (StudioError, OSError):
        return el("p", "This run was deleted, or its record cannot be read.", class_="left-out")
    state = head.state
    return join(
        totals_list(state.current_totals, head),
        capability_strip([step.used for step in state.steps]) if state.mode == "sandbox" else None,
        el("details", el("summary", "Steps and tokens"), token_chart(state), _steps(state)),
    )


def _steps(state: RunState) -> Html:
    lines = [
        el("li", call.summary or call.name, el("small", f" {_outcome(call)}", class_="dim"))
        for step in state.steps
        for call in step.calls
    ]
    more = len(lines) - _MAX_STEPS
    note = el("p", f"{plural(more, 'further call')} left out", class_="left-out")
    return join(el("ol", *lines[:_MAX_STEPS]), note if more > 0 else None)


def _outcome(call: CallSummary) -> str:
    if call.end_reason is None:
        return "no result"
    if call.end_reason != "exit":
        return str(call.end_reason)
    return f"exit {call.exit_code}" if call.exit_code else "✓" if call.ok else "failed"


def _tasks(description: Description) -> Iterator[Html]:
    """Yield the table of the tasks with the outcome of each member, some rows at a time."""
    tasks = description["tasks"]
    labels = [el("th", member["label"], scope="col") for member in description["members"]]
    head = el("thead", el("tr", el("th", "Task", scope="col"), *labels))
    yield Html('<section class="group"><h2>Tasks</h2>\n<div class="table whole" tabindex="0" ')
    yield join(Html('role="group" aria-label="Tasks"><table>'), head, Html("<tbody>\n"))
    for task, row in zip(tasks[:_MAX_TASKS], description["cells"], strict=False):
        cells = [_task_cell(cell) for cell in row]
        name = el("th", task["title"] or task["id"], el("small", f" {task['domain']}"),
                  scope="row")  # fmt: skip
        yield el("tr", name, *cells)
    yield Html("</tbody></table></div>\n")
    if len(tasks) > _MAX_TASKS:
        more = plural(len(tasks) - _MAX_TASKS, "further task")
        yield el("p", f"{more} left out", class_="left-out")
    yield Html("</section>\n")


def _task_cell(cell: Description) -> Html:
    score = "" if cell["score"] is None else f" {100 * cell['score']:.0f} %"
    outcome = str(cell["outcome"] or "")
    return el("td", f"{outcome}{score}", class_=f"outcome {outcome}")
