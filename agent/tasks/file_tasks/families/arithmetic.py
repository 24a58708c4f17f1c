"""File tasks on calculation: function plots, dates, arithmetic."""

import math
from datetime import date, timedelta
from fractions import Fraction

from agent.tasks.document_qa.draft import MONTHS, long_date
from agent.tasks.file_tasks import chart_checks, checks
from agent.tasks.file_tasks.sampler import DraftFactory, TaskSampler
from agent.tasks.file_tasks.synthetic_values import to_python
from agent.tasks.file_tasks.task import FileTaskDraft

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _function(sampler: TaskSampler) -> str:
    slots = {"a": sampler.random_number(2, 9), "b": sampler.random_number(1, 20)}
    return sampler.sample("function").format_map(slots)


def _plot(sampler: TaskSampler, functions: list[str]) -> FileTaskDraft:
    positive = any("sqrt" in each or "log" in each or "ln" in each for each in functions)
    start = (
        sampler.random_number(1, 5)
        if positive
        else sampler.rng.choice((0, 0, -sampler.random_number(1, 12)))
    )
    plot_range = sampler.choose_range(start, 20)
    out = sampler.choose_output("plot.png")
    low, high = map(str, plot_range) if plot_range else ("1" if positive else "-10", "10")
    curves = ", ".join(f"x, {to_python(each)}" for each in functions)
    lines = f"from pylab import *\nx = linspace({low}, {high}, 500)\nplot({curves})\ngrid()"
    drawn = [_curve(each) for each in functions]
    test = chart_checks.shows_curves(drawn, float(low), float(high))
    return FileTaskDraft((f"python3 <<'EOF'\n{lines}\nsavefig('{out}')\nEOF",), test)


def _curve(function: str) -> chart_checks.Curve:
    """Compile a generated function for evaluation; not safe for other input."""
    code = compile(to_python(function), function, "eval")
    names = {"__builtins__": {}, "abs": abs, "arctan": math.atan, **vars(math)}
    return lambda x: float(eval(code, names, {"x": x}))


def _plot_function(sampler: TaskSampler) -> FileTaskDraft:
    function = _function(sampler)
    sampler.slots["f"] = function
    return _plot(sampler, [function])


def _plot_two(sampler: TaskSampler) -> FileTaskDraft:
    one, other = _function(sampler), _function(sampler)
    sampler.slots |= {"f": one, "g": other}
    return _plot(sampler, [one, other])


def _random_day(sampler: TaskSampler) -> date:
    """Return a day between 1990 and 2039; the parts use disjoint days of the month."""
    return date(
        sampler.rng.randint(1990, 2039), sampler.rng.randint(1, 12), sampler.random_number(1, 28)
    )


def _format_day(day: date, sampler: TaskSampler) -> str:
    month = MONTHS[day.month - 1]
    forms = (f"{day:%Y-%m-%d}", long_date(day), f"{month} {day.day}, {day.year}",
             f"{day.day} {month[:3]} {day.year}", f"{day:%Y-%m-%d}")  # fmt: skip
    return sampler.rng.choice(forms)


def _dates_between(sampler: TaskSampler) -> FileTaskDraft:
    first = _random_day(sampler)
    last = _random_day(sampler)
    first, last = min(first, last), max(first, last)
    start, until = _format_day(first, sampler), _format_day(last, sampler)
    sampler.slots |= {"from": start, "until": until}
    out = sampler.choose_output("answer.txt")
    command = (
        f"echo $(( ($(date -ud '{until}' +%s) - $(date -ud '{start}' +%s)) / 86400 )) > '{out}'"
    )
    return FileTaskDraft((command,), checks.number_equals((last - first).days))


def _dates_weekday(sampler: TaskSampler) -> FileTaskDraft:
    day = _random_day(sampler)
    day_text = _format_day(day, sampler)
    sampler.slots["day"] = day_text
    out = sampler.choose_output("answer.txt")
    command = f"date -ud '{day_text}' +%A > '{out}'"
    return FileTaskDraft((command,), checks.short_answer(_WEEKDAYS[day.weekday()]))


def _dates_after(sampler: TaskSampler) -> FileTaskDraft:
    day, days = _random_day(sampler), sampler.random_number(2, 400)
    day_text = _format_day(day, sampler)
    sampler.slots |= {"day": day_text, "n": str(days)}
    out = sampler.choose_output("answer.txt")
    command = f"date -ud '{day_text} {days} days' +%F > '{out}'"
    return FileTaskDraft((command,), checks.short_answer(str(day + timedelta(days))))


def _calculate_expression(sampler: TaskSampler) -> FileTaskDraft:
    terms, signs = sampler.rng.randint(2, 4), ("+", "-", "*", "/", "+", "*")
    parts = [str(sampler.random_number(2, 999))]
    for _ in range(terms - 1):
        parts += [sampler.rng.choice(signs), str(sampler.random_number(2, 99))]
    if terms == 3 and sampler.rng.randbelow(2):
        parts = ["(", *parts[:3], ")", *parts[3:]]
    glue = sampler.rng.choice((" ", " ", ""))
    code = glue.join(parts).replace("( ", "(").replace(" )", ")")
    expression = code.replace("*", sampler.rng.choice(("*", "*", "x", "×")))
    sampler.slots["e"] = expression.replace("/", sampler.rng.choice(("/", "/", ":", "÷")))
    out = sampler.choose_output("answer.txt")
    command = f"python3 -c 'print(round({code}, 4))' > '{out}'"
    return FileTaskDraft((command,), checks.number_equals(float(_evaluate(parts))))


def _evaluate(parts: list[str]) -> Fraction:
    """Evaluate a list of numbers and operators; the first three may be in brackets."""
    if parts[0] == "(":
        return _evaluate([str(_evaluate(parts[1:4])), *parts[5:]])
    total, product = Fraction(0), Fraction(parts[0])
    for operator, operand in zip(parts[1::2], map(Fraction, parts[2::2]), strict=True):
        if operator in "+-":
            total, product = total + product, operand if operator == "+" else -operand
        else:
            product = product * operand if operator == "*" else product / operand
    return total + product


def _calculate_percent(sampler: TaskSampler) -> FileTaskDraft:
    share, whole = sampler.random_number(2, 99), sampler.random_number(10, 9999)
    sampler.slots |= {"n": str(share), "m": str(whole)}
    out = sampler.choose_output("answer.txt")
    command = f"python3 -c 'print(round({whole} * {share} / 100, 4))' > '{out}'"
    return FileTaskDraft((command,), checks.number_equals(share * whole / 100))


FAMILIES: dict[str, dict[str, DraftFactory]] = {
    "plot": {"function": _plot_function, "two": _plot_two},
    "dates": {"between": _dates_between, "weekday": _dates_weekday, "after": _dates_after},
    "calculate": {"expression": _calculate_expression, "percent": _calculate_percent},
}
