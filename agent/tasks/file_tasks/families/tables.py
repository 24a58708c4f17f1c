"""File tasks on tables: column statistics, filters, conversions, charts."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.tasks.file_tasks import chart_checks, checks
from agent.tasks.file_tasks.sampler import DraftFactory, TaskSampler
from agent.tasks.file_tasks.task import ContentCheck, FileTaskDraft

_READ_CSV = "import pandas as pd\nd = pd.read_csv('input/{name}')\n"


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a text column ``label`` and at least one numeric one, ``measure``."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    label: str
    measure: str

    def column(self, name: str) -> list[str]:
        """Return the cells of a column."""
        at = self.header.index(name)
        return [row[at] for row in self.rows]

    @property
    def text(self) -> str:
        """The table as CSV."""
        return "".join(f"{','.join(row)}\n" for row in (self.header, *self.rows))


def _table(sampler: TaskSampler, *, distinct: bool = True, max_rows: int = 14) -> Table:
    label, measure = sampler.sample("label"), sampler.sample("measure")
    count = sampler.rng.randint(4, max_rows)
    cells = sampler.sample_many("cell", count if distinct else sampler.rng.randint(2, 4))
    columns = {label: cells if distinct else [sampler.rng.choice(cells) for _ in range(count)]}
    for name in [measure, *sampler.sample_many("measure", sampler.rng.randbelow(3))]:
        columns[name] = _random_numbers(sampler, count)
    head = sampler.rng.shuffled(list(columns))
    rows = zip(*(columns[name] for name in head), strict=True)
    return Table(tuple(head), tuple(rows), label, measure)


def _random_numbers(sampler: TaskSampler, count: int) -> list[str]:
    most = sampler.rng.choice((10, 100, 1000, 9999))
    if sampler.rng.randbelow(3):
        return [str(sampler.rng.randint(1, most)) for _ in range(count)]
    return [f"{sampler.rng.randint(1, most)}.{sampler.rng.randint(1, 9)}" for _ in range(count)]


def _python(lines: str, name: str, out: str = "") -> tuple[str]:
    """Return a command that runs a Python program; ``out`` receives its stdout."""
    target = f" > '{out}'" if out else ""
    return (f"python3{target} <<'EOF'\n{_READ_CSV.format(name=name)}{lines}\nEOF",)


def _column_statistic(
    method: str, expected_value: Callable[[Sequence[float]], float]
) -> DraftFactory:
    def make(sampler: TaskSampler) -> FileTaskDraft:
        table = _table(sampler)
        name = sampler.add_input("csv", table.text)
        sampler.slots["column"] = sampler.quote(table.measure)
        out = sampler.choose_output("answer.txt")
        expected = expected_value([float(cell) for cell in table.column(table.measure)])
        lines = f"print(round(d['{table.measure}'].{method}(), 2))"
        return FileTaskDraft(_python(lines, name, out), checks.number_equals(expected))

    return make


def _filter_equal(sampler: TaskSampler) -> FileTaskDraft:
    table = _table(sampler, distinct=False)
    cell = sampler.rng.choice(table.column(table.label))
    name = sampler.add_input("csv", table.text)
    sampler.slots |= {"column": sampler.quote(table.label), "cell": sampler.quote(cell)}
    out = sampler.choose_output(name)
    lines = f"d[d['{table.label}'] == '{cell}'].to_csv('{out}', index=False)"
    kept = [row for row in table.rows if row[table.header.index(table.label)] == cell]
    return FileTaskDraft(_python(lines, name), checks.csv_table(table.header, kept))


def _numeric_filter(operator: str, predicate: Callable[[float, float], bool]) -> DraftFactory:
    def make(sampler: TaskSampler) -> FileTaskDraft:
        table = _table(sampler)
        cells = sorted(float(cell) for cell in table.column(table.measure))
        limit = sampler.random_number(int(cells[0]), int(cells[-1]) + 5)
        name = sampler.add_input("csv", table.text)
        sampler.slots |= {"column": sampler.quote(table.measure), "limit": str(limit)}
        out = sampler.choose_output(name)
        lines = f"d[d['{table.measure}'] {operator} {limit}].to_csv('{out}', index=False)"
        at = table.header.index(table.measure)
        kept = [row for row in table.rows if predicate(float(row[at]), limit)]
        return FileTaskDraft(_python(lines, name), checks.csv_table(table.header, kept))

    return make


def _filter_order(sampler: TaskSampler) -> FileTaskDraft:
    table = _table(sampler)
    column = sampler.rng.choice((table.measure, table.label))
    at = table.header.index(column)
    rows = sorted(table.rows, key=lambda row: row[at] if column == table.label else float(row[at]))
    name = sampler.add_input("csv", table.text)
    sampler.slots["column"] = sampler.quote(column)
    out = sampler.choose_output(name)
    lines = f"d.sort_values('{column}').to_csv('{out}', index=False)"
    return FileTaskDraft(_python(lines, name), checks.csv_table(table.header, rows, sort_column=at))


def _convert_json(sampler: TaskSampler) -> FileTaskDraft:
    table = _table(sampler)
    name = sampler.add_input("csv", table.text)
    out = sampler.choose_output(name.removesuffix("csv") + "json")
    lines = f"d.to_json('{out}', orient='records', indent=2)"
    return FileTaskDraft(_python(lines, name), checks.json_records(table.header, table.rows))


def _convert_csv(sampler: TaskSampler) -> FileTaskDraft:
    table = _table(sampler)
    columns = {name: table.column(name) for name in table.header}
    cells = {name: [_json_value(cell) for cell in column] for name, column in columns.items()}
    records = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    name = sampler.add_input("json", json.dumps(records, indent=sampler.rng.choice((None, 2))))
    out = sampler.choose_output(name.removesuffix("json") + "csv")
    command = f"python3 <<'EOF'\nimport pandas as pd\nd = pd.read_json('input/{name}')\n"
    command += f"d.to_csv('{out}', index=False)\nEOF"
    return FileTaskDraft((command,), checks.csv_table(table.header, table.rows))


def _json_value(cell: str) -> str | float:
    try:
        return float(cell) if "." in cell else int(cell)
    except ValueError:
        return cell


def _convert_markdown(sampler: TaskSampler) -> FileTaskDraft:
    table = _table(sampler)
    name = sampler.add_input("csv", table.text)
    out = sampler.choose_output(name.removesuffix("csv") + "md")
    command = f"python3 > '{out}' <<'EOF'\nimport csv\nd = list(csv.reader(open('input/{name}')))\n"
    command += "d.insert(1, ['---'] * len(d[0]))\n"
    command += "for row in d:\n    print('|', ' | '.join(row), '|')\nEOF"
    return FileTaskDraft((command,), checks.markdown_table(table.header, table.rows))


def _chart(kind: str, expected_chart: Callable[[Sequence[float]], ContentCheck]) -> DraftFactory:
    def make(sampler: TaskSampler) -> FileTaskDraft:
        table = _table(sampler, max_rows=8)
        name = sampler.add_input("csv", table.text)
        sampler.slots |= {"x": sampler.quote(table.label), "y": sampler.quote(table.measure)}
        out = sampler.choose_output("chart.png")
        plot = f"d.set_index('{table.label}')['{table.measure}'].plot.{kind}()"
        lines = f"import matplotlib.pyplot as plt\n{plot}\nplt.tight_layout()\nplt.savefig('{out}')"
        expected = expected_chart([float(cell) for cell in table.column(table.measure)])
        return FileTaskDraft(_python(lines, name), expected)

    return make


FAMILIES: dict[str, dict[str, DraftFactory]] = {
    "column": {
        "sum": _column_statistic("sum", sum),
        "mean": _column_statistic("mean", lambda cells: sum(cells) / len(cells)),
        "max": _column_statistic("max", max),
        "min": _column_statistic("min", min),
    },
    "filter": {
        "equal": _filter_equal,
        "above": _numeric_filter(">", lambda cell, limit: cell > limit),
        "below": _numeric_filter("<", lambda cell, limit: cell < limit),
        "order": _filter_order,
    },
    "convert": {"json": _convert_json, "csv": _convert_csv, "markdown": _convert_markdown},
    "chart": {
        "bar": _chart("bar", chart_checks.shows_bars),
        "line": _chart("line", chart_checks.shows_line),
        "pie": _chart("pie", chart_checks.shows_slices),
    },
}
