"""File tasks on calculation: function plots, dates, arithmetic."""

import math
from datetime import date, timedelta
from fractions import Fraction

from agent.tasks.document_qa.draft import MONTHS, long_date
from agent.tasks.file_tasks import chart_checks, checks
from agent.tasks.file_tasks.sampler import Draw, Make
from agent.tasks.file_tasks.synthetic_values import code_of
from agent.tasks.file_tasks.task import Draft

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _function(draw: Draw) -> str:
    slots = {"a": draw.number(2, 9), "b": draw.number(1, 20)}
    return draw.one("function").format_map(slots)


def _plot(draw: Draw, functions: list[str]) -> Draft:
    positive = any("sqrt" in each or "log" in each or "ln" in each for each in functions)
    start = draw.number(1, 5) if positive else draw.dice.pick((0, 0, -draw.number(1, 12)))
    said = draw.range(start, 20)
    out = draw.out("plot.png")
    low, high = map(str, said) if said else ("1" if positive else "-10", "10")
    curves = ", ".join(f"x, {code_of(each)}" for each in functions)
    lines = f"from pylab import *\nx = linspace({low}, {high}, 500)\nplot({curves})\ngrid()"
    drawn = [_curve(each) for each in functions]
    test = chart_checks.shows_curves(drawn, float(low), float(high))
    return Draft((f"python3 <<'EOF'\n{lines}\nsavefig('{out}')\nEOF",), test)


def _curve(function: str) -> chart_checks.Curve:
    """Compile a generated function for evaluation; not safe for other input."""
    code = compile(code_of(function), function, "eval")
    names = {"__builtins__": {}, "abs": abs, "arctan": math.atan, **vars(math)}
    return lambda x: float(eval(code, names, {"x": x}))


def _plot_function(draw: Draw) -> Draft:
    function = _function(draw)
    draw.slots["f"] = function
    return _plot(draw, [function])


def _plot_two(draw: Draw) -> Draft:
    one, other = _function(draw), _function(draw)
    draw.slots |= {"f": one, "g": other}
    return _plot(draw, [one, other])


def _day(draw: Draw) -> date:
    """Return a day between 1990 and 2039; the parts use disjoint days of the month."""
    return date(draw.dice.between(1990, 2039), draw.dice.between(1, 12), draw.number(1, 28))


def _written(day: date, draw: Draw) -> str:
    month = MONTHS[day.month - 1]
    forms = (f"{day:%Y-%m-%d}", long_date(day), f"{month} {day.day}, {day.year}",
             f"{day.day} {month[:3]} {day.year}", f"{day:%Y-%m-%d}")  # fmt: skip
    return draw.dice.pick(forms)


def _dates_between(draw: Draw) -> Draft:
    first = _day(draw)
    last = _day(draw)
    first, last = min(first, last), max(first, last)
    start, until = _written(first, draw), _written(last, draw)
    draw.slots |= {"from": start, "until": until}
    out = draw.out("answer.txt")
    way = f"echo $(( ($(date -ud '{until}' +%s) - $(date -ud '{start}' +%s)) / 86400 )) > '{out}'"
    return Draft((way,), checks.number((last - first).days))


def _dates_weekday(draw: Draw) -> Draft:
    day = _day(draw)
    written = _written(day, draw)
    draw.slots["day"] = written
    out = draw.out("answer.txt")
    way = f"date -ud '{written}' +%A > '{out}'"
    return Draft((way,), checks.holds(_WEEKDAYS[day.weekday()]))


def _dates_after(draw: Draw) -> Draft:
    day, days = _day(draw), draw.number(2, 400)
    written = _written(day, draw)
    draw.slots |= {"day": written, "n": str(days)}
    out = draw.out("answer.txt")
    way = f"date -ud '{written} {days} days' +%F > '{out}'"
    return Draft((way,), checks.holds(str(day + timedelta(days))))


def _calculate_expression(draw: Draw) -> Draft:
    terms, signs = draw.dice.between(2, 4), ("+", "-", "*", "/", "+", "*")
    parts = [str(draw.number(2, 999))]
    for _ in range(terms - 1):
        parts += [draw.dice.pick(signs), str(draw.number(2, 99))]
    if terms == 3 and draw.dice.below(2):
        parts = ["(", *parts[:3], ")", *parts[3:]]
    glue = draw.dice.pick((" ", " ", ""))
    code = glue.join(parts).replace("( ", "(").replace(" )", ")")
    shown = code.replace("*", draw.dice.pick(("*", "*", "x", "×")))
    draw.slots["e"] = shown.replace("/", draw.dice.pick(("/", "/", ":", "÷")))
    out = draw.out("answer.txt")
    way = f"python3 -c 'print(round({code}, 4))' > '{out}'"
    return Draft((way,), checks.number(float(_value(parts))))


def _value(parts: list[str]) -> Fraction:
    """Evaluate a list of numbers and operators; the first three may be in brackets."""
    if parts[0] == "(":
        return _value([str(_value(parts[1:4])), *parts[5:]])
    total, product = Fraction(0), Fraction(parts[0])
    for operator, operand in zip(parts[1::2], map(Fraction, parts[2::2]), strict=True):
        if operator in "+-":
            total, product = total + product, operand if operator == "+" else -operand
        else:
            product = product * operand if operator == "*" else product / operand
    return total + product


def _calculate_percent(draw: Draw) -> Draft:
    share, whole = draw.number(2, 99), draw.number(10, 9999)
    draw.slots |= {"n": str(share), "m": str(whole)}
    out = draw.out("answer.txt")
    way = f"python3 -c 'print(round({whole} * {share} / 100, 4))' > '{out}'"
    return Draft((way,), checks.number(share * whole / 100))


FAMILIES: dict[str, dict[str, Make]] = {
    "plot": {"function": _plot_function, "two": _plot_two},
    "dates": {"between": _dates_between, "weekday": _dates_weekday, "after": _dates_after},
    "calculate": {"expression": _calculate_expression, "percent": _calculate_percent},
}
