"""An experiment as CSV, JSON, LaTeX, Markdown and text, and its figure as SVG and PNG.

All are made from the JSON of ``agent.experiments.description.describe``. Texts come from models and
files: each format escapes them.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic_core import to_json

from agent.errors import UsageError
from agent.experiments.figures import chart
from agent.util.text import plural

Kind = Literal["csv", "json", "tex", "md", "svg", "png"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MEDIA_TYPES: dict[Kind, str] = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "tex": "application/x-tex; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}
_TABLE_COLUMNS = (
    "group", "key", "measure", "member", "label", "text", "value", "low", "high", "interval", "n",
    "difference", "best", "note",
)  # fmt: skip
_RESULT_COLUMNS = (
    "domain", "tasks", "member", "label", "mode", "n", "correct", "score", "low", "high",
    "infrastructure", "unscored", "baseline", "gain", "gainLow", "gainHigh", "gainP", "pairs",
    "runs", "tokensOnce", "tokensPeak", "tokensPrompt", "tokensGenerated", "turns", "seconds",
    "environmentTime", "environmentTokens", "throughput",
)  # fmt: skip
_RATES = tuple(
    (method, name)
    for method in ("parsed", "paper")
    for name in ("external", "files", "computation")
)
_MAX_CELL, _MAX_LATEX_CELL = 300, 100
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "–": "--", "×": r"$\times$", "≈": r"$\approx$", "÷": r"$\div$", "−": "$-$",
    "“": "``", "”": "''", "’": "'", "…": r"\ldots{}", "·": r"$\cdot$",
}  # fmt: skip
_NUMBER = re.compile(r"[-+]?[\d.,]+")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|&~#])")
_NONE = "–"
_Format = Callable[[dict[str, Any]], str]


PRESET_NOTE = (
    "the paper’s tasks, limits, repetitions, temperatures, reading of answers and judge; its "
    "prompts in words of this project."
)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the table: its label, its cells, and which of them are the best."""

    label: str
    cells: Sequence[str]
    best: Sequence[bool]


@dataclass(frozen=True, slots=True)
class _Table:
    """The table that is written as text: columns, titled groups of rows, sentences around it."""

    columns: Sequence[str]
    groups: Sequence[tuple[str, Sequence[_Row]]]
    before: Sequence[str] = ()
    after: Sequence[str] = ()


def export(description: dict[str, Any], kind: str) -> bytes:
    """Return an experiment in a format."""
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise UsageError(f"An experiment is exported as {known}, not as “{kind:.20}”.")
    if kind == "json":
        return to_json(description, indent=2, inf_nan_mode="null") + b"\n"
    if kind == "csv":
        rows = _result_rows(description) if "results" in description else _table_rows(description)
        return _csv(rows)
    if kind == "svg" or kind == "png":
        return chart.draw(description, kind)
    table = _table_of(description, description.get("task", ""))
    text = _latex(table) if kind == "tex" else _markdown(table)
    return (text + "\n").encode("utf-8", "replace")


def as_text(description: dict[str, Any]) -> str:
    """Return the table for a terminal, with what a reader must know; intervals are in brackets."""
    table = _table_of(description)
    blank = [""] * len(table.columns)
    rows = [["", *table.columns]]
    for title, each in table.groups:
        rows += [[title, *blank], *([f"  {row.label}", *row.cells] for row in each)]
    before = [*table.before, ""] if table.before else []
    after = ["", *table.after] if table.after else []
    return "\n".join([*before, *_aligned(rows), *after]) + "\n"


def _table_of(description: dict[str, Any], task: str = "") -> _Table:
    members = description["members"]
    if "results" not in description:
        verdict, marked = description["verdict"], _marks(description)
        groups = [
            (group["title"], [
                _Row(row["label"], [_with_details(cell) for cell in row["cells"]],
                     [cell["best"] for cell in row["cells"]])
                for row in group["rows"]
            ])
            for group in description["table"]
        ]  # fmt: skip
        sentences = (verdict["text"], verdict["detail"], *marked, task)
        return _Table([each["label"] for each in members], groups, list(filter(None, sentences)))
    domains = description["results"]
    groups = [
        (domain_name(domain), [
            _Row(members[found["member"]]["label"], [value(found) for _, value in TABLE],
                 [False] * len(TABLE))
            for found in domain["members"]
        ])
        for domain in domains
        if not (domain["domain"] == "all" and len(domains) == 2)
    ]  # fmt: skip
    return _Table([name for name, _ in TABLE], groups, (), list(notes(description)))


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table for a terminal."""
    shown = [[_shortened(_one_line(text), 60) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]


def _latex(table: _Table) -> str:
    lines = [
        "% needs \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        "\\toprule",
        " & ".join(["", *map(_tex, table.columns)]) + r" \\",
    ]
    for title, rows in table.groups:
        span = f"\\multicolumn{{{len(table.columns) + 1}}}{{l}}{{\\textit{{{_tex(title)}}}}}"
        lines += ["\\midrule", f"{span} \\\\"]
        for row in rows:
            cells = [
                f"\\textbf{{{_tex(text)}}}" if best else _tex(text)
                for text, best in zip(row.cells, row.best, strict=True)
            ]
            lines.append(" & ".join([_tex(row.label), *cells]) + r" \\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    return "\n".join([*lines, *(f"% {_one_line(text)}" for text in (*table.before, *table.after))])


def _markdown(table: _Table) -> str:
    lines = list[str]()
    for at, text in enumerate(table.before):
        lines += [_md(text) if at else f"**{_md(text)}**", ""]
    lines += [
        f"| | {' | '.join(map(_md, table.columns))} |",
        f"|---|{'---:|' * len(table.columns)}",
    ]
    for title, rows in table.groups:
        lines.append(f"| **{_md(title)}** |{' |' * len(table.columns)}")
        for row in rows:
            cells = [
                f"**{_md(text)}**" if best else _md(text)
                for text, best in zip(row.cells, row.best, strict=True)
            ]
            lines.append(f"| {_md(row.label)} | {' | '.join(cells)} |")
    return "\n".join([*lines, *(part for text in table.after for part in ("", _md(text)))])


def _csv(rows: Iterator[Sequence[object]]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    for row in rows:
        writer.writerow([_not_a_formula(value) for value in row])
    return file.getvalue().encode("utf-8", "replace")


def _table_rows(description: dict[str, Any]) -> Iterator[Sequence[object]]:
    yield _TABLE_COLUMNS
    for group in description["table"]:
        for row in group["rows"]:
            for member, cell in zip(description["members"], row["cells"], strict=True):
                yield (
                    group["title"], row["key"], row["label"], member["index"], member["label"],
                    cell["text"], cell["value"], cell["low"], cell["high"], cell["method"],
                    cell["n"], cell["delta"], cell["best"], cell["note"],
                )  # fmt: skip


def _result_rows(description: dict[str, Any]) -> Iterator[Sequence[object]]:
    yield (*_RESULT_COLUMNS, *(f"{method}_{name}" for method, name in _RATES))
    for domain in description["results"]:
        for found in domain["members"]:
            member = description["members"][found["member"]]
            values = {"domain": domain["domain"], "tasks": domain["tasks"], **found,
                      "label": member["label"], "mode": member["mode"]}  # fmt: skip
            rates = [(found["capabilities"][method] or {}).get(name) for method, name in _RATES]
            yield [*(values[name] for name in _RESULT_COLUMNS), *rates]


def _not_a_formula(value: object) -> object:
    """Return a cell that a spreadsheet does not execute."""
    dangerous = (
        isinstance(value, str)
        and not _NUMBER.fullmatch(value)
        and value[:1] in ("=", "+", "-", "@", "\t", "\r")
    )
    return f"'{value}" if dangerous else value


def _tex(text: str) -> str:
    """Return a text for LaTeX, as one line."""
    return "".join(_LATEX.get(each, each) for each in _shortened(_one_line(text), _MAX_LATEX_CELL))


def _md(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _shortened(_one_line(text)))


def _marks(description: dict[str, Any]) -> list[str]:
    """Return what a reader must know of members: settings that did not reach their models."""
    return [
        f"{member['label']}: {'; '.join(member['marks'])}."
        for member in description["members"]
        if member.get("marks")
    ]


def _with_details(cell: dict[str, Any]) -> str:
    """Return a cell's text with its interval and n, and its difference to the baseline."""
    text = str(cell["text"])
    if cell["interval"]:
        text += f" [{cell['interval']}]"
    if cell["n"] > 1 and cell["value"] is not None:
        text += f" (n = {cell['n']})"
    return f"{text} ({cell['delta']})" if cell["delta"] else text


def _one_line(text: str) -> str:
    """Return a text without line breaks and control characters."""
    return "".join(each for each in " ".join(text.split()) if each.isprintable())


def _shortened(text: str, limit: int = _MAX_CELL) -> str:
    """Return a text with at most ``limit`` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def domain_name(domain: dict[str, Any]) -> str:
    """Return the name of a domain with the number of its tasks."""
    name = "All domains" if domain["domain"] == "all" else domain["domain"].capitalize()
    return f"{name} ({plural(domain['tasks'], 'task')})"


def notes(description: dict[str, Any]) -> Iterator[str]:
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
    yield description["interval"]


def _percent(key: str, low: str = "", high: str = "", sign: str = "") -> _Format:
    def value(found: dict[str, Any]) -> str:
        if found[key] is None:
            return _NONE
        text = format(100 * found[key], f"{sign}.1f")
        if low and found[low] is not None:
            text += f" [{100 * found[low]:{sign}.1f} to {100 * found[high]:{sign}.1f}]"
        return text

    return value


def _number(key: str, digits: int = 0) -> _Format:
    return lambda found: _NONE if found[key] is None else f"{found[key]:,.{digits}f}"


def _rates(method: str) -> _Format:
    def value(found: dict[str, Any]) -> str:
        rates = found["capabilities"][method]
        return (
            _NONE if rates is None else " / ".join(f"{100 * rate:.0f}" for rate in rates.values())
        )

    return value


TABLE: tuple[tuple[str, _Format], ...] = (
    ("n", _number("n")),
    ("Score, %", _percent("score", "low", "high")),
    ("Gain, points", _percent("gain", "gainLow", "gainHigh", sign="+")),
    ("Infrastructure", _number("infrastructure")),
    ("Unscored", _number("unscored")),
    ("Tokens once", _number("tokensOnce")),
    ("Peak", _number("tokensPeak")),
    ("Turns", _number("turns", 1)),
    ("Ext/file/comp, %", _rates("parsed")),
    ("By the paper’s patterns", _rates("paper")),
    ("Env. tokens, %", _percent("environmentTokens")),
    ("Env. time, %", _percent("environmentTime")),
    ("Throughput", _number("throughput", 2)),
)
"""The columns of a table of results: their names, and what they show of a member\'s result."""
