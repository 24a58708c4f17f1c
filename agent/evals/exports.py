"""An evaluation's results as CSV, JSON, LaTeX and text, and the paper's figure as SVG and PNG.

All are made from the JSON of ``agent.evals.description.describe``. Texts come from models and
files: each format escapes them.
"""

import csv
import io
from collections.abc import Callable, Iterator
from typing import Any

from agent.compare.exports import MEDIA_TYPES as _MEDIA_TYPES
from agent.compare.exports import as_json, columns, marks, not_a_formula, one_line, tex
from agent.errors import UsageError
from agent.evals import figure
from agent.util.text import plural

KINDS = ("csv", "json", "tex", "svg", "png")
MEDIA_TYPES = {kind: media for kind, media in _MEDIA_TYPES.items() if kind in KINDS}

_NONE = "–"
_COLUMNS = (
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
_Format = Callable[[dict[str, Any]], str]


def export(description: dict[str, Any], kind: str) -> bytes:
    """Return an evaluation in a format.

    Raises:
        UsageError: There is no such format.
    """
    if kind not in _WRITERS:
        raise UsageError(f"An evaluation is exported as {', '.join(KINDS)}, not as “{kind:.20}”.")
    return _WRITERS[kind](description)


def as_text(description: dict[str, Any]) -> str:
    """Return the results for a terminal."""
    lines = []
    for domain in description["results"]:
        if domain["domain"] == "all" and len(description["results"]) == 2:
            continue
        rows = [[domain_name(domain), *(name for name, _ in TABLE)]]
        for found in domain["members"]:
            label = description["members"][found["member"]]["label"]
            rows.append([f"  {label}", *(value(found) for _, value in TABLE)])
        lines += [*columns(rows), ""]
    return "\n".join([*lines, *notes(description)]) + "\n"


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
    samples = [suite["title"] for suite in description["suites"] if suite["sample"]]
    if samples:
        yield f"Samples of this project, not the authors’ data: {', '.join(samples)}."
    reference = [
        suite["title"] for suite in description["suites"] if suite["extraction"] == "reference"
    ]
    if reference:
        yield f"Final answers read as by the paper’s reward: {', '.join(reference)}."
    yield from marks(description)
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


def _csv(description: dict[str, Any]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow([*_COLUMNS, *(f"{method}_{name}" for method, name in _RATES)])
    for domain in description["results"]:
        for found in domain["members"]:
            member = description["members"][found["member"]]
            values = {"domain": domain["domain"], "tasks": domain["tasks"], **found,
                      "label": member["label"], "mode": member["mode"]}  # fmt: skip
            rates = [(found["capabilities"][method] or {}).get(name) for method, name in _RATES]
            row = [*(values[name] for name in _COLUMNS), *rates]
            writer.writerow([not_a_formula(value) for value in row])
    return file.getvalue().encode("utf-8", "replace")


def _latex(description: dict[str, Any]) -> bytes:
    lines = [
        "% needs \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{l{'r' * len(TABLE)}}}",
        "\\toprule",
        " & ".join(["", *(tex(name) for name, _ in TABLE)]) + r" \\",
    ]
    for domain in description["results"]:
        title = tex(domain_name(domain))
        lines += [
            "\\midrule",
            f"\\multicolumn{{{len(TABLE) + 1}}}{{l}}{{\\textit{{{title}}}}} \\\\",
        ]
        for found in domain["members"]:
            label = description["members"][found["member"]]["label"]
            cells = [tex(label), *(tex(value(found)) for _, value in TABLE)]
            lines.append(" & ".join(cells) + r" \\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    lines += [f"% {one_line(text)}" for text in notes(description)]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


_WRITERS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "csv": _csv,
    "json": as_json,
    "tex": _latex,
    "svg": figure.as_svg,
    "png": figure.as_png,
}
