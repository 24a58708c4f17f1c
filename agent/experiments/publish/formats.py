"""Tables as CSV, LaTeX, Markdown and text; each escapes the texts of models and files."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agent.util.text import shortened

_MAX_CELL, _MAX_LATEX_CELL = 300, 100
_LONG = 45  # rows; a longer table of LaTeX breaks over pages
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "–": "--", "×": r"$\times$", "≈": r"$\approx$", "÷": r"$\div$", "−": "$-$", "Δ": r"$\Delta$",
    "“": "``", "”": "''", "’": "'", "…": r"\ldots{}", "·": r"$\cdot$",
}  # fmt: skip
_NUMBER = re.compile(r"[-+]?[\d.,]+")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|&~#])")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its label, its cells, and which of them are bold."""

    label: str
    cells: Sequence[str]
    best: Sequence[bool] = ()

    @property
    def marked(self) -> list[tuple[str, bool]]:
        """The cells, and whether each is bold."""
        return list(zip(self.cells, self.best or [False] * len(self.cells), strict=True))


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, groups of rows (titled or not), sentences around them, definitions of columns."""

    columns: Sequence[str]
    groups: Sequence[tuple[str, Sequence[Row]]]
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    definitions: Sequence[tuple[str, str]] = field(default=())


def as_latex(table: Table) -> str:
    """Return a table for LaTeX with booktabs, ready to paste; what surrounds it are comments."""
    rows = sum(len(rows) for _, rows in table.groups)
    environment = "longtable" if rows > _LONG else "tabular"
    needed = "booktabs,longtable" if rows > _LONG else "booktabs"
    lines = [
        f"% needs \\usepackage{{{needed}}}",
        f"\\begin{{{environment}}}{{l{'r' * len(table.columns)}}}",
        "\\toprule",
        " & ".join(["", *map(_tex, table.columns)]) + r" \\",
    ]
    if environment == "longtable":
        lines += ["\\midrule", "\\endhead"]
    for at, (title, each) in enumerate(table.groups):
        if at or environment == "tabular":
            lines.append("\\midrule")
        if title:
            span = f"\\multicolumn{{{len(table.columns) + 1}}}{{l}}{{\\textit{{{_tex(title)}}}}}"
            lines.append(f"{span} \\\\")
        for row in each:
            cells = [f"\\textbf{{{_tex(text)}}}" if best else _tex(text)
                     for text, best in row.marked]  # fmt: skip
            lines.append(" & ".join([_tex(row.label), *cells]) + r" \\")
    lines += ["\\bottomrule", f"\\end{{{environment}}}"]
    said = [*table.before, *table.after, *(": ".join(each) for each in table.definitions)]
    return "\n".join([*lines, *(f"% {one_line(text)}" for text in said)]) + "\n"


def as_markdown(table: Table) -> str:
    """Return a table as Markdown; the first sentence before it is bold."""
    lines = list[str]()
    for at, text in enumerate(table.before):
        lines += [_md_said(text) if at else f"**{_md_said(text)}**", ""]
    lines += [
        f"| | {' | '.join(map(_md, table.columns))} |",
        f"|---|{'---:|' * len(table.columns)}",
    ]
    for title, rows in table.groups:
        if title:
            lines.append(f"| **{_md(title)}** |{' |' * len(table.columns)}")
        for row in rows:
            cells = [f"**{_md(text)}**" if best else _md(text) for text, best in row.marked]
            lines.append(f"| {_md(row.label)} | {' | '.join(cells)} |")
    lines += [part for text in table.after for part in ("", _md_said(text))]
    lines += ["", *(f"<!-- {name}: {text} -->" for name, text in table.definitions)]
    return "\n".join(lines) + "\n"


def as_text(table: Table) -> str:
    """Return a table for a terminal, with what a reader must know."""
    blank = [""] * len(table.columns)
    rows = [["", *table.columns]]
    for title, each in table.groups:
        rows += [[title, *blank]] if title else []
        rows += [[row.label, *row.cells] for row in each]
    before = [*table.before, ""] if table.before else []
    after = ["", *table.after] if table.after else []
    return "\n".join([*before, *_aligned(rows), *after]) + "\n"


def as_csv(rows: Iterable[Sequence[object]]) -> bytes:
    """Return rows as CSV that a spreadsheet does not execute."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    for row in rows:
        writer.writerow([_not_a_formula(value) for value in row])
    return file.getvalue().encode("utf-8", "replace")


def one_line(text: str) -> str:
    """Return a text without line breaks and control characters."""
    return "".join(each for each in " ".join(text.split()) if each.isprintable())


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table for a terminal."""
    shown = [[shortened(one_line(text), 60) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]


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
    return "".join(_LATEX.get(each, each) for each in shortened(one_line(text), _MAX_LATEX_CELL))


def _md(text: str) -> str:
    return _md_said(shortened(one_line(text), _MAX_CELL))


def _md_said(text: str) -> str:
    """Return a sentence for Markdown; what a table departs from is never shortened."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))
