"""File tasks on tables: column statistics, filters, conversions, charts."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.tasks.file_tasks import chart_checks, checks
from agent.tasks.file_tasks.sampler import Draw, Make
from agent.tasks.file_tasks.task import Draft, Test

_READ = "import pandas as pd\nd = pd.read_csv('input/{name}')\n"


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a text column ``label`` and at least one numeric one, ``measure``."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    label: str
    measure: str

    def column(self, name: str) -> list[str]:
        """Return the cells of a column."""
        at = self.head.index(name)
        return [row[at] for row in self.rows]

    @property
    def text(self) -> str:
        """The table as CSV."""
        return "".join(f"{','.join(row)}\n" for row in (self.head, *self.rows))


def _table(draw: Draw, *, distinct: bool = True, most: int = 14) -> Table:
    label, measure = draw.one("label"), draw.one("measure")
    count = draw.dice.between(4, most)
    cells = draw.some("cell", count if distinct else draw.dice.between(2, 4))
    columns = {label: cells if distinct else [draw.dice.pick(cells) for _ in range(count)]}
    for name in [measure, *draw.some("measure", draw.dice.below(3))]:
        columns[name] = _figures(draw, count)
    head = draw.dice.shuffled(list(columns))
    rows = zip(*(columns[name] for name in head), strict=True)
    return Table(tuple(head), tuple(rows), label, measure)


def _figures(draw: Draw, count: int) -> list[str]:
    most = draw.dice.pick((10, 100, 1000, 9999))
    if draw.dice.below(3):
        return [str(draw.dice.between(1, most)) for _ in range(count)]
    return [f"{draw.dice.between(1, most)}.{draw.dice.between(1, 9)}" for _ in range(count)]


def _python(lines: str, name: str, out: str = "") -> tuple[str]:
    """Return a command that runs a Python program; ``out`` receives its stdout."""
    target = f" > '{out}'" if out else ""
    return (f"python3{target} <<'EOF'\n{_READ.format(name=name)}{lines}\nEOF",)


def _figure(method: str, compute: Callable[[Sequence[float]], float]) -> Make:
    def make(draw: Draw) -> Draft:
        table = _table(draw)
        name = draw.file("csv", table.text)
        draw.slots["column"] = draw.quoted(table.measure)
        out = draw.out("answer.txt")
        expected = compute([float(cell) for cell in table.column(table.measure)])
        lines = f"print(round(d['{table.measure}'].{method}(), 2))"
        return Draft(_python(lines, name, out), checks.number(expected))

    return make


def _filter_equal(draw: Draw) -> Draft:
    table = _table(draw, distinct=False)
    cell = draw.dice.pick(table.column(table.label))
    name = draw.file("csv", table.text)
    draw.slots |= {"column": draw.quoted(table.label), "cell": draw.quoted(cell)}
    out = draw.out(name)
    lines = f"d[d['{table.label}'] == '{cell}'].to_csv('{out}', index=False)"
    kept = [row for row in table.rows if row[table.head.index(table.label)] == cell]
    return Draft(_python(lines, name), checks.table(table.head, kept))


def _limited(sign: str, keeps: Callable[[float, float], bool]) -> Make:
    def make(draw: Draw) -> Draft:
        table = _table(draw)
        cells = sorted(float(cell) for cell in table.column(table.measure))
        limit = draw.number(int(cells[0]), int(cells[-1]) + 5)
        name = draw.file("csv", table.text)
        draw.slots |= {"column": draw.quoted(table.measure), "limit": str(limit)}
        out = draw.out(name)
        lines = f"d[d['{table.measure}'] {sign} {limit}].to_csv('{out}', index=False)"
        at = table.head.index(table.measure)
        kept = [row for row in table.rows if keeps(float(row[at]), limit)]
        return Draft(_python(lines, name), checks.table(table.head, kept))

    return make


def _filter_order(draw: Draw) -> Draft:
    table = _table(draw)
    column = draw.dice.pick((table.measure, table.label))
    at = table.head.index(column)
    rows = sorted(table.rows, key=lambda row: row[at] if column == table.label else float(row[at]))
    name = draw.file("csv", table.text)
    draw.slots["column"] = draw.quoted(column)
    out = draw.out(name)
    lines = f"d.sort_values('{column}').to_csv('{out}', index=False)"
    return Draft(_python(lines, name), checks.table(table.head, rows, ties=at))


def _convert_json(draw: Draw) -> Draft:
    table = _table(draw)
    name = draw.file("csv", table.text)
    out = draw.out(name.removesuffix("csv") + "json")
    lines = f"d.to_json('{out}', orient='records', indent=2)"
    return Draft(_python(lines, name), checks.records(table.head, table.rows))


def _convert_csv(draw: Draw) -> Draft:
    table = _table(draw)
    columns = {name: table.column(name) for name in table.head}
    cells = {name: [_json(cell) for cell in column] for name, column in columns.items()}
    records = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    name = draw.file("json", json.dumps(records, indent=draw.dice.pick((None, 2))))
    out = draw.out(name.removesuffix("json") + "csv")
    way = f"python3 <<'EOF'\nimport pandas as pd\nd = pd.read_json('input/{name}')\n"
    way += f"d.to_csv('{out}', index=False)\nEOF"
    return Draft((way,), checks.table(table.head, table.rows))


def _json(cell: str) -> str | float:
    try:
        return float(cell) if "." in cell else int(cell)
    except ValueError:
        return cell


def _convert_markdown(draw: Draw) -> Draft:
    table = _table(draw)
    name = draw.file("csv", table.text)
    out = draw.out(name.removesuffix("csv") + "md")
    way = f"python3 > '{out}' <<'EOF'\nimport csv\nd = list(csv.reader(open('input/{name}')))\n"
    way += "d.insert(1, ['---'] * len(d[0]))\n"
    way += "for row in d:\n    print('|', ' | '.join(row), '|')\nEOF"
    return Draft((way,), checks.markdown(table.head, table.rows))


def _chart(kind: str, shows: Callable[[Sequence[float]], Test]) -> Make:
    def make(draw: Draw) -> Draft:
        table = _table(draw, most=8)
        name = draw.file("csv", table.text)
        draw.slots |= {"x": draw.quoted(table.label), "y": draw.quoted(table.measure)}
        out = draw.out("chart.png")
        plot = f"d.set_index('{table.label}')['{table.measure}'].plot.{kind}()"
        lines = f"import matplotlib.pyplot as plt\n{plot}\nplt.tight_layout()\nplt.savefig('{out}')"
        expected = shows([float(cell) for cell in table.column(table.measure)])
        return Draft(_python(lines, name), expected)

    return make


FAMILIES: dict[str, dict[str, Make]] = {
    "column": {
        "sum": _figure("sum", sum),
        "mean": _figure("mean", lambda cells: sum(cells) / len(cells)),
        "max": _figure("max", max),
        "min": _figure("min", min),
    },
    "filter": {
        "equal": _filter_equal,
        "above": _limited(">", lambda cell, limit: cell > limit),
        "below": _limited("<", lambda cell, limit: cell < limit),
        "order": _filter_order,
    },
    "convert": {"json": _convert_json, "csv": _convert_csv, "markdown": _convert_markdown},
    "chart": {
        "bar": _chart("bar", chart_checks.shows_bars),
        "line": _chart("line", chart_checks.shows_line),
        "pie": _chart("pie", chart_checks.shows_slices),
    },
}
