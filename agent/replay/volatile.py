"""Rules for what may differ between executions of a command; docs/replay.md lists them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

_NEAR_SECONDS = 2 * 86_400.0
"""How far from the execution a date may be: time zones, and runs that cross midnight."""

_MONTH = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_MONTHS = {name: number for number, name in enumerate(_MONTH.split("|"), start=1)}
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[AP]M\b)?"
_ZONE = r"(?:\s?(?:Z|UTC|GMT|CES?T|E[SD]T|P[SD]T|[+-]\d{2}:?\d{2})\b)?"
_NUMBER = r"(?<![\d.,])\d{1,9}(?:[.,]\d{1,9})?"
_UNIT = r"(?:ns|µs|μs|us|ms|s|secs?|seconds?|m|min|mins|minutes?|h|hours?)\b"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; a match may be volatile only at the time of the execution (since the epoch)."""

    name: str  # what it covers, in the plural, for the user
    pattern: re.Pattern[str]
    placeholder: str  # with groups of the pattern
    is_volatile: Callable[[re.Match[str], float], bool] = lambda _match, _at: True


def _near(moment: datetime, at: float) -> bool:
    return abs((moment - datetime.fromtimestamp(at, UTC)).total_seconds()) <= _NEAR_SECONDS


def _is_today(match: re.Match[str], at: float) -> bool:
    """Whether the groups ``year`` (if any), ``month`` and ``day`` are the day of the execution."""
    parts = match.groupdict()
    month = parts["month"]
    today = datetime.fromtimestamp(at, UTC)
    years = [int(parts["year"])] if parts.get("year") else [today.year, today.year - 1]
    for year in years:
        try:
            moment = datetime(year, int(_MONTHS.get(month, month)), int(parts["day"]), tzinfo=UTC)
        except ValueError:
            continue
        if _near(moment + timedelta(hours=12), at):
            return True
    return False


def _is_epoch(match: re.Match[str], at: float) -> bool:
    """Whether a number is the time of the execution, in seconds or smaller units."""
    digits = match["epoch"]
    return abs(float(digits[:10]) - at) <= _NEAR_SECONDS


RULES: tuple[Rule, ...] = (
    Rule(
        "temporary paths",
        re.compile(r"(?P<folder>/tmp/)tmp[._]?\w{6,}"),
        r"\g<folder><temporary>",
    ),
    Rule(
        "temporary paths",
        re.compile(
            r"(?P<folder>/tmp/)(?P<name>[A-Za-z][A-Za-z-]{0,40}[._-])"
            r"(?=[a-zA-Z_]{0,15}\d|[a-z]{1,15}[A-Z]|[A-Z]{1,15}[a-z])\w{6,16}\b"
        ),
        r"\g<folder>\g<name><temporary>",
    ),
    Rule(
        "random identifiers",
        re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[14][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b"),
        "<uuid>",
    ),
    Rule(
        "dates",
        re.compile(
            r"\b(?P<year>\d{4})(?P<dash>[-/.])(?P<month>\d{2})(?P=dash)(?P<day>\d{2})"
            rf"(?:[T _]{_CLOCK}{_ZONE})?(?![\d-])"
        ),
        "<date>",
        _is_today,
    ),
    Rule(
        "dates",
        re.compile(
            r"(?<!\d)(?P<year>20\d{2})(?P<month>\d{2})(?P<day>\d{2})(?:[T_-]?\d{6}(?:Z\b|\b|_))?(?!\d)"
        ),
        "<date>",
        _is_today,
    ),
    Rule(
        "dates",
        re.compile(
            r"\b(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,?\s+)?"
            rf"(?P<month>{_MONTH})[a-z]*\s+(?P<day>\d{{1,2}})\b"
            rf"(?:,?\s+{_CLOCK}{_ZONE})?(?:,?\s+(?P<year>\d{{4}})\b)?(?:\s+{_CLOCK}{_ZONE})?"
        ),
        "<date>",
        _is_today,
    ),
    Rule(
        "dates",
        re.compile(
            r"\b(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,?\s+)?"
            rf"(?P<day>\d{{1,2}})[ -](?P<month>{_MONTH})[a-z]*[ -](?P<year>\d{{4}})\b"
            rf"(?:,?\s+{_CLOCK}{_ZONE})?"
        ),
        "<date>",
        _is_today,
    ),
    Rule(
        "times",
        re.compile(r"\b(?P<epoch>1[5-9]\d{8}|2\d{9})(?:\.\d+|\d{3}|\d{6}|\d{9})?\b"),
        "<epoch>",
        _is_epoch,
    ),
    Rule("times", re.compile(r"(?<![\d:])\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?![\d:])"), "<time>"),
    Rule(
        "durations",
        re.compile(r"^(?P<name>real|user|sys)\s+(?:\d+m)?\d+[.,]\d+s?$"),
        r"\g<name> <duration>",
    ),
    Rule(
        "durations",
        re.compile(
            r"(?P<word>\b(?:took|taken|elapsed|runtime|wall(?: time)?|total time|execution time|"
            r"(?:passed|failed|finished|completed|done|built|installed|resolved|ran|tests?|packages?|"
            r"files?|modules?|warnings?|errors?|skipped) in)\b\s{0,4}[:=(]?\s{0,4})"
            rf"(?:about |~|≈)?{_NUMBER}\s?{_UNIT}(?:\s?{_NUMBER}\s?{_UNIT})?",
            re.IGNORECASE,
        ),
        r"\g<word><duration>",
    ),
    Rule(
        "durations",
        re.compile(
            rf"{_NUMBER}\s?{_UNIT}(?=\s(?:elapsed|total|per loop|cpu|call|setup|teardown)\b)"
        ),
        "<duration>",
    ),
    Rule(
        "transfer rates",
        re.compile(rf"{_NUMBER}\s?(?:[kKMGT]i?)?(?:B|bytes?|bit|it|files?|rows?)/s(?:ec)?\b"),
        "<rate>",
    ),
    Rule(
        "memory addresses",
        re.compile(r"(?P<at>\bat )0x[0-9a-fA-F]{6,16}\b"),
        r"\g<at><address>",
    ),
    Rule(
        "memory addresses",
        re.compile(r"\b0x(?:0000)?(?:7[ef]|5[56])[0-9a-f]{10}\b"),
        "<address>",
    ),
    Rule(
        "process ids",
        re.compile(r"(?P<name>\b(?:pid|process|process id|PID)\b\s*[:=#(]?\s*)\d+", re.IGNORECASE),
        r"\g<name><pid>",
    ),
    Rule("process ids", re.compile(r"^(?P<job>\[\d+\][+-]?\s+)\d+(?=\s|$)"), r"\g<job><pid>"),
    Rule("process ids", re.compile(r"(?P<line>\bline \d+:\s+)\d+(?=\s)"), r"\g<line><pid>"),
    Rule("process ids", re.compile(r"^==\d+=="), "==<pid>=="),
    Rule(
        "host names",
        re.compile(r"(?P<user>\b[a-z_][a-z0-9_-]{0,31}@)[0-9a-f]{12}\b"),
        r"\g<user><host>",
    ),
)
"""The rules, applied in this order to each line."""


@dataclass(frozen=True, slots=True)
class Normalised:
    """A line without its volatile parts, and the names of the rules that replaced any."""

    text: str
    rules: frozenset[str] = frozenset()


def normalise(line: str, at: float) -> Normalised:
    """Return a line, written ``at`` a time, with placeholders for its volatile parts."""
    if len(line) > _MAX_LINE:
        return Normalised(line)
    used = set()
    for rule in RULES:
        replaced = rule.pattern.sub(partial(_replace, rule, at), line)
        if replaced != line:
            used.add(rule.name)
            line = replaced
    return Normalised(" ".join(line.split()), frozenset(used)) if used else Normalised(line)


_MAX_LINE = 10_000


def _replace(rule: Rule, at: float, match: re.Match[str]) -> str:
    return match.expand(rule.placeholder) if rule.is_volatile(match, at) else match[0]
