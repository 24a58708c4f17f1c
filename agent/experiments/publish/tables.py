"""The tables of an experiment, made from the JSON that describes it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent.experiments.publish.columns import TABLES, definitions
from agent.experiments.publish.formats import Row, Table
from agent.experiments.publish.results import ALL, MEAN, METHODS, results_by_task
from agent.experiments.publish.rows import from_json
from agent.experiments.publish.run_row import CAPABILITIES
from agent.util.text import plural

Description = Mapping[str, Any]
_Format = Callable[[Mapping[str, Any]], str]
_NONE, _TIED = "–", "="
_TABLE_COLUMNS = (
    "group", "key", "measure", "member", "label", "text", "value", "low", "high", "interval", "n",
    "difference", "best", "note",
)  # fmt: skip
_BOLD = (
    "Bold: a score above every other member’s, a gain above or below 0, where the 95 % interval of "
    "the paired difference says so. “=”: tied, not to be told from the highest score."
)


PRESET_NOTE = (
    "the paper’s tasks, limits, repetitions, temperatures, reading of answers and judge; its "
    "prompts in words of this project."
)


def is_evaluation(description: Description) -> bool:
    """Whether a description is an evaluation's."""
    return "suites" in description


def table_of(description: Description, task: str = "") -> Table:
    """Return the table of all figures; ``task`` stands below a comparison's."""
    members = description["members"]
    if not is_evaluation(description):
        verdict = description["verdict"]
        groups = [
            (group["title"], [
                Row(row["label"], [_with_details(cell) for cell in row["cells"]],
                    [cell["best"] for cell in row["cells"]])
                for row in group["rows"]
            ])
            for group in description["table"]
        ]  # fmt: skip
        sentences = (verdict["text"], verdict["detail"], *_marks(description), task)
        return Table([each["label"] for each in members], groups, list(filter(None, sentences)))
    repeated = any(each["k"] for domain in description["results"] for each in domain["members"])
    shown = [each for each in _TABLE if repeated or not each.key.startswith("pass")]
    groups = [
        (domain_name(domain), [
            Row(members[found["member"]]["label"], [each.value(found) for each in shown],
                [each.bold(found) for each in shown])
            for found in domain["members"]
        ])
        for domain in shown_domains(description)
    ]  # fmt: skip
    known = definitions("domains")
    return Table(
        [each.name for each in shown], groups, (), [_BOLD, *notes(description)],
        [(each.name, known[each.key]) for each in shown],
    )  # fmt: skip


def scores_table(description: Description) -> Table:
    """Return the paper's table: members by domain, a score and, below it, the gain."""
    domains, members = shown_domains(description), description["members"]
    rows = list[Row]()
    for at, member in enumerate(members):
        found = [domain["members"][at] for domain in domains]
        rows.append(
            Row(member["label"], [_score(each) for each in found], [each["best"] for each in found])
        )
        if is_compared(member, members):
            label = f"Δ to {members[member['baseline']]['label']}"
            gains = [_percent("gain", sign="+")(each) for each in found]
            rows.append(Row(label, gains, [is_clear(each) for each in found]))
    said = "Scores in %, gains in points.", _BOLD, *notes(description)
    known = definitions("domains")
    about = [(name, known[name]) for name in ("domain", "score", "gain", "gainLow", "best", "tied")]
    return Table([domain_name(each) for each in domains], [("", rows)], (), said, about)


def tasks_table(description: Description) -> Table:
    """Return the score of each task by member, grouped by domain."""
    members, domains = description["members"], dict[str, list[Row]]()
    found = results_of_tasks(description)
    for at in range(0, len(found), len(members)):
        cells = found[at : at + len(members)]
        first = cells[0]
        rows = domains.setdefault(first["domain"], [])
        rows.append(Row(str(first["id"]), [_task_cell(cell) for cell in cells]))
    groups = [(name.capitalize(), rows) for name, rows in domains.items()]
    said = ("Mean score of a task’s repetitions in %; in brackets, those that are right.",)
    known = definitions("tasks")
    about = [(name, known[name]) for name in ("score", "right", "scored")]
    return Table([each["label"] for each in members], groups, (), said, about)


def results_of_tasks(description: Description) -> list[dict[str, Any]]:
    """Return a result for each task and member, computed from the rows of runs."""
    members = description["members"]
    baselines = [member["baseline"] for member in members]
    results = results_by_task(from_json(description["runs"]), description["tasks"], baselines)
    return [each | {"label": members[each["member"]]["label"]} for each in results]


def table_rows(description: Description) -> Iterator[Sequence[object]]:
    """Yield the rows of all figures, for CSV: a header, then one for each cell or result."""
    if is_evaluation(description):
        yield from rows("domains", _results(description))
        return
    yield _TABLE_COLUMNS
    for group in description["table"]:
        for row in group["rows"]:
            for member, cell in zip(description["members"], row["cells"], strict=True):
                yield (
                    group["title"], row["key"], row["label"], member["index"], member["label"],
                    cell["text"], cell["value"], cell["low"], cell["high"], cell["method"],
                    cell["n"], cell["delta"], cell["best"], cell["note"],
                )  # fmt: skip


def rows(table: str, values: Iterable[Mapping[str, Any]]) -> Iterator[Sequence[object]]:
    """Yield a header, and a row for each item; several values in a cell are parted by “; ”."""
    columns = TABLES[table]
    yield [column.key for column in columns]
    for each in values:
        yield [_in_one_cell(each[column.key]) for column in columns]


def _in_one_cell(value: object) -> object:
    if not isinstance(value, list | tuple):
        return value
    return "; ".join("" if each is None else str(each) for each in value)


def _results(description: Description) -> Iterator[dict[str, Any]]:
    """Yield the results of all domains and members, with the values of all columns."""
    for domain in description["results"]:
        for found in domain["members"]:
            member = description["members"][found["member"]]
            rates = {
                f"{method}_{name}": (found["capabilities"][method] or {}).get(name)
                for method in METHODS for name in CAPABILITIES
            }  # fmt: skip
            yield {"domain": domain["domain"], "tasks": domain["tasks"], **found, **rates,
                   "label": member["label"], "mode": member["mode"]}  # fmt: skip


def shown_domains(description: Description) -> list[dict[str, Any]]:
    """Return the results that a table shows: those of all tasks last, and only beside others."""
    domains = [each for each in description["results"] if each["domain"] not in (ALL, MEAN)]
    whole = [each for each in description["results"] if each["domain"] in (MEAN, ALL)]
    return [*domains, *whole[::-1]] if len(domains) > 1 else domains


def domain_name(domain: Mapping[str, Any]) -> str:
    """Return the name of a domain with the number of its tasks."""
    if domain["domain"] == MEAN:
        return f"Mean of {plural(domain['tasks'], 'domain')}"
    name = "All tasks" if domain["domain"] == ALL else domain["domain"].capitalize()
    return f"{name} ({plural(domain['tasks'], 'task')})"


def is_compared(member: Mapping[str, Any], members: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a member's gain is shown beside its score: not that over another model's baseline."""
    baseline = members[member["baseline"]]
    return member is not baseline and (
        member["model"] == baseline["model"] or member["mode"] != baseline["mode"]
    )


def is_clear(found: Mapping[str, Any]) -> bool:
    """Whether the interval of a gain does not contain 0."""
    low, high = found["gainLow"], found["gainHigh"]
    return low is not None and high is not None and (low > 0 or high < 0)


def notes(description: Description) -> Iterator[str]:
    """Yield what the reader has to know: counts, the judge, samples, the intervals."""
    counts = description["counts"]
    yield f"{counts['done']:,} of {plural(counts['total'], 'run')} done." + "".join(
        f" {plural(counts[name], 'run')} {text}."
        for name, text in (
            ("infrastructure", "failed by an infrastructure error; not counted"),
            ("unscored", "ended without a score; not counted"),
            ("stopped", "stopped"),
        )
        if counts[name]
    )
    judge = description["judge"]
    if judge and judge["askedVotes"]:
        agreement = judge["agreement"]
        known = "not known" if agreement is None else f"{100 * agreement:.0f} %"
        yield (
            f"Judge {judge['model']}: {plural(judge['askedVotes'], 'vote')}, "
            f"{judge['failedVotes']:,} failed, {judge['unscored']:,} of "
            f"{plural(judge['answers'], 'answer')} without a vote; agreement {known}."
        )
    if preset := description["preset"]:
        departures = "; ".join(preset["departures"])
        yield (
            f"Preset {preset['name']}: {PRESET_NOTE}"
            + (f" Overridden: {departures}." if departures else " Nothing is overridden.")
        )
    samples = [suite["title"] for suite in description["suites"] if suite["sample"]]
    if samples:
        yield f"Samples of this project, not the authors’ data: {', '.join(samples)}."
    reference = [
        suite["title"] for suite in description["suites"] if suite["extraction"] == "reference"
    ]
    if reference:
        yield f"Final answers read as by the paper’s reward: {', '.join(reference)}."
    yield from _marks(description)
    if agreement := description.get("agreement"):
        kappa = agreement["kappa"]
        yield (
            f"Raters {' and '.join(agreement['raters'])}: Cohen’s kappa "
            f"{'not defined' if kappa is None else f'{kappa:.3f}'}, "
            f"{agreement['agreed']:,} of {plural(agreement['n'], 'run')} labelled alike "
            f"({100 * agreement['expected']:.1f} % by chance)."
        )
    tests = {found["gainTest"] for domain in description["results"] for found in domain["members"]}
    named = " and ".join(sorted(filter(None, tests)))
    yield description["interval"] + (f" Tests of gains, two-sided: {named}." if named else "")


def _marks(description: Description) -> list[str]:
    """Return what a reader must know of members: settings that did not reach their models."""
    return [
        f"{member['label']}: {'; '.join(member['marks'])}."
        for member in description["members"]
        if member.get("marks")
    ]


def _with_details(cell: Mapping[str, Any]) -> str:
    """Return a cell's text with its interval and n, and its difference to the baseline."""
    text = str(cell["text"])
    if cell["interval"]:
        text += f" [{cell['interval']}]"
    if cell["n"] > 1 and cell["value"] is not None:
        text += f" (n = {cell['n']})"
    return f"{text} ({cell['delta']})" if cell["delta"] else text


def _task_cell(found: Mapping[str, Any]) -> str:
    if found["score"] is None:
        return _NONE
    text = f"{100 * found['score']:.1f}"
    return f"{text} ({found['right']}/{found['scored']})" if found["scored"] > 1 else text


def _percent(key: str, low: str = "", high: str = "", sign: str = "") -> _Format:
    def value(found: Mapping[str, Any]) -> str:
        if found[key] is None:
            return _NONE
        text = format(100 * found[key], f"{sign}.1f")
        if low and found[low] is not None:
            text += f" [{100 * found[low]:{sign}.1f} to {100 * found[high]:{sign}.1f}]"
        return text

    return value


def _number(key: str, digits: int = 0) -> _Format:
    return lambda found: _NONE if found[key] is None else f"{found[key]:,.{digits}f}"


def _p_value(found: Mapping[str, Any]) -> str:
    p = found["gainP"]
    return _NONE if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _rates(method: str) -> _Format:
    def value(found: Mapping[str, Any]) -> str:
        rates = found["capabilities"][method]
        return (
            _NONE if rates is None else " / ".join(f"{100 * rate:.0f}" for rate in rates.values())
        )

    return value


def _pass(key: str) -> _Format:
    percent = _percent(key, f"{key}Low", f"{key}High")

    def value(found: Mapping[str, Any]) -> str:
        return f"{percent(found)} (k = {found['k']})" if found[key] is not None else _NONE

    return value


def _score(found: Mapping[str, Any], low: str = "", high: str = "") -> str:
    return _percent("score", low, high)(found) + (f" {_TIED}" if found["tied"] else "")


_gain = _percent("gain", "gainLow", "gainHigh", sign="+")


@dataclass(frozen=True, slots=True)
class _Shown:
    """A column of the table of all figures; ``key`` names its definition."""

    name: str
    key: str
    value: _Format
    bold: Callable[[Mapping[str, Any]], bool] = lambda _: False


_TABLE = (
    _Shown("n", "n", _number("n")),
    _Shown(
        "Score, %",
        "score",
        partial(_score, low="low", high="high"),
        lambda found: bool(found["best"]),
    ),
    _Shown("Gain, points", "gain", _gain, is_clear),
    _Shown("p", "gainTest", _p_value),
    _Shown("pass@k, %", "passAt", _pass("passAt")),
    _Shown("pass^k, %", "passHat", _pass("passHat")),
    _Shown("Infrastructure", "infrastructure", _number("infrastructure")),
    _Shown("Unscored", "unscored", _number("unscored")),
    _Shown("Tokens once", "tokensOnce", _number("tokensOnce")),
    _Shown("Peak", "tokensPeak", _number("tokensPeak")),
    _Shown("Turns", "turns", _number("turns", 1)),
    _Shown("Ext/file/comp, %", "parsed_external", _rates("parsed")),
    _Shown("By the paper’s patterns", "paper_external", _rates("paper")),
    _Shown("Env. tokens, %", "environmentTokens", _percent("environmentTokens")),
    _Shown("Env. time, %", "environmentTime", _percent("environmentTime")),
    _Shown("Throughput", "throughput", _number("throughput", 2)),
)
