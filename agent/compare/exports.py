"""A comparison's table as CSV, JSON, LaTeX and Markdown, and its chart as SVG and PNG.

All are made from the JSON of ``agent.compare.description.describe``. Texts come from models and
files: each format escapes them.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, get_args

from pydantic_core import to_json

from agent.compare import chart
from agent.errors import UsageError

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
_COLUMNS = (
    "group", "key", "measure", "member", "label", "text", "value", "low", "high", "interval", "n",
    "difference", "best", "note",
)  # fmt: skip
_MAX_CELL, _MAX_LATEX_CELL = 300, 100
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "–": "--", "×": r"$\times$", "≈": r"$\approx$", "÷": r"$\div$", "−": "$-$",
    "“": "``", "”": "''", "’": "'", "…": r"\ldots{}", "·": r"$\cdot$",
}  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[-+]?[\d.,]+")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|&~#])")


def export(description: dict[str, Any], kind: str) -> bytes:
    """Return a comparison in a format.

    Raises:
        UsageError: There is no such format.
    """
    if kind not in _WRITERS:
        raise UsageError(f"A comparison is exported as {', '.join(KINDS)}, not as “{kind:.20}”.")
    return _WRITERS[kind](description)


def as_text(description: dict[str, Any]) -> str:
    """Return the verdict and the table for a terminal; intervals are in brackets."""
    labels = [member["label"] for member in description["members"]]
    rows = [["", *labels]]
    for group in description["table"]:
        rows.append([group["title"].upper(), *([""] * len(labels))])
        rows += [
            [f"  {row['label']}", *(_with_details(cell) for cell in row["cells"])]
            for row in group["rows"]
        ]
    lines = columns(rows)
    verdict = description["verdict"]
    return (
        "\n".join(
            filter(None, (verdict["text"], verdict["detail"], *marks(description), "", *lines))
        )
        + "\n"
    )


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table for a terminal."""
    shown = [[shortened(one_line(text), 60) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]


def _csv(description: dict[str, Any]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(_COLUMNS)
    for group, row, member, cell in _cells(description):
        values = (
            group["title"], row["key"], row["label"], member["index"], member["label"],
            cell["text"], cell["value"], cell["low"], cell["high"], cell["method"], cell["n"],
            cell["delta"], cell["best"], cell["note"],
        )  # fmt: skip
        writer.writerow([not_a_formula(value) for value in values])
    return file.getvalue().encode("utf-8", "replace")


def not_a_formula(value: object) -> object:
    """Return a cell that a spreadsheet does not execute."""
    dangerous = (
        isinstance(value, str)
        and not _NUMBER.fullmatch(value)
        and value[:1] in ("=", "+", "-", "@", "\t", "\r")
    )
    return f"'{value}" if dangerous else value


def as_json(description: dict[str, Any]) -> bytes:
    """Return a description as indented JSON."""
    return to_json(description, indent=2, inf_nan_mode="null") + b"\n"


def _latex(description: dict[str, Any]) -> bytes:
    labels = [tex(member["label"]) for member in description["members"]]
    lines = [
        "% needs \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{l{'r' * len(labels)}}}",
        "\\toprule",
        " & ".join(["", *labels]) + r" \\",
    ]
    for group in description["table"]:
        title = f"\\multicolumn{{{len(labels) + 1}}}{{l}}{{\\textit{{{tex(group['title'])}}}}}"
        lines += ["\\midrule", f"{title} \\\\"]
        for row in group["rows"]:
            cells = []
            for cell in row["cells"]:
                text = tex(_with_details(cell))
                cells.append(f"\\textbf{{{text}}}" if cell["best"] else text)
            lines.append(" & ".join([tex(row["label"]), *cells]) + r" \\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    lines += [f"% {one_line(text)}" for text in _notes(description)]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def tex(text: str) -> str:
    """Return a text for LaTeX, as one line."""
    return "".join(_LATEX.get(each, each) for each in shortened(one_line(text), _MAX_LATEX_CELL))


def _markdown(description: dict[str, Any]) -> bytes:
    labels = [_md(member["label"]) for member in description["members"]]
    lines = [f"**{_md(text)}**" if not at else _md(text)
             for at, text in enumerate(_notes(description))]  # fmt: skip
    lines = [each for text in lines for each in (text, "")]
    lines += [
        f"| | {' | '.join(labels)} |",
        f"|---|{'---:|' * len(labels)}",
    ]
    for group in description["table"]:
        lines.append(f"| **{_md(group['title'])}** |{' |' * len(labels)}")
        for row in group["rows"]:
            cells = []
            for cell in row["cells"]:
                text = _md(_with_details(cell))
                cells.append(f"**{text}**" if cell["best"] else text)
            lines.append(f"| {_md(row['label'])} | {' | '.join(cells)} |")
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _md(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", shortened(one_line(text)))


def _notes(description: dict[str, Any]) -> list[str]:
    """Return the verdict, its details, and the task."""
    verdict = description["verdict"]
    texts = (verdict["text"], verdict["detail"], *marks(description), description["task"])
    return [text for text in texts if text]


def marks(description: dict[str, Any]) -> list[str]:
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


def _cells(
    description: dict[str, Any],
) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]]:
    for group in description["table"]:
        for row in group["rows"]:
            for member, cell in zip(description["members"], row["cells"], strict=True):
                yield group, row, member, cell


def one_line(text: str) -> str:
    """Return a text without line breaks and control characters."""
    return "".join(each for each in " ".join(text.split()) if each.isprintable())


def shortened(text: str, limit: int = _MAX_CELL) -> str:
    """Return a text with at most ``limit`` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


_WRITERS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "csv": _csv,
    "json": as_json,
    "tex": _latex,
    "md": _markdown,
    "svg": chart.as_svg,
    "png": chart.as_png,
}
