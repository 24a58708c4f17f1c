r"""Compare expressions with math-verify in a worker process, which has a memory limit.

An expression can keep it busy forever or exhaust memory (``10^{10^{10}}``), and math-verify's
own time limit works in the main thread only. The worker is killed at our time limit, and the
expressions count as not equal.
"""

import atexit
import json
import os
import re
import subprocess
import sys
import threading
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector

from agent.errors import TaskError
from agent.grading.final_answer import answer_lines, final_answer, strip_markup
from agent.grading.numbers import (
    is_stated,
    joined_digits,
    plain_number,
    split_unit,
    stated_value,
    the_number,
)
from agent.grading.texts import normalized

MAX_EXPRESSION_CHARS = 1_000  # longer expressions are not compared
TIMEOUT_SECONDS = 5.0  # of a comparison
# Time limit for starting the process in seconds, long enough for a busy machine
STARTUP_TIMEOUT_SECONDS = 60.0
_PRECISION = 6  # decimals from which numbers are compared rounded, by math-verify
_COMMAND = re.compile(r"\\[A-Za-z]+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_FUNCTIONS = frozenset(["sin", "cos", "tan", "exp", "log", "ln", "sqrt", "pi", "mod"])
_MATHEMATICAL = re.compile(r"[\d\\^=+]|^[^\W\d_]$")
_DATE_OR_TIME = re.compile(r"(?<!\d)\d++([-/.])\d++\1\d|\d:\d\d")
# R2D2, 7h05: letters followed by digits are not products; 2x is one.
_LETTER_THEN_DIGIT = re.compile(r"[^\W\d_]\d")
_RELATION = re.compile(r"[=<>≤≥≠]|\\(?:eq|neq?|leq?|geq?|lt|gt|in)\b")
_EQUALS = re.compile(r"(=|≈|\\approx(?![A-Za-z]))")
_PERCENT = re.compile(r"\s{0,9}(?:\\?%|\bpercent\b)\.?\s{0,9}$")
_TEXT = re.compile(r"\\(?:text\w*|math(?:rm|bf|it|sf)|rm|bf)\s*\{([^{}]*)\}")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_])")
_MAX_SENTENCES = 3


def is_expression(truth: str) -> bool:
    """Return whether a correct answer is an expression: no date, time or text with numbers."""
    if (
        len(truth) > MAX_EXPRESSION_CHARS
        or _plain_words(truth)
        or _DATE_OR_TIME.search(truth)
        or _LETTER_THEN_DIGIT.search(_COMMAND.sub(" ", truth))
    ):
        return False
    if _RELATION.search(truth) and not re.search(r"[^\W\d_]", _COMMAND.sub(" ", truth)):
        return False  # 1 < 2 would equal every other true relation
    return bool(_MATHEMATICAL.search(truth))


def mathematical_answer(text: str) -> str:
    """Return the expression that a text gives as its answer; empty if there is none."""
    final = final_answer(text)
    if final.marked:
        return _expression_in(final.text) or _stated_in(final.text)
    if found := _expression_in(final.text):
        return found
    lines = answer_lines(text)
    if (len(lines) == 1 or is_stated(final.text)) and (found := _stated_in(final.text)):
        return found
    alone = {each for line in lines[:-1] if (each := _expression_in(strip_markup(line)))}
    return alone.pop() if len(alone) == 1 else ""


def _stated_in(text: str) -> str:
    """Return what the last sentence with a number states."""
    sentences = _SENTENCE.split(text[-MAX_EXPRESSION_CHARS:])
    for sentence in reversed(sentences[-_MAX_SENTENCES:]):
        if re.search(r"\d", sentence):
            value = stated_value(sentence)
            if found := _expression_in(value):
                return found
            number = the_number(sentence)
            return "" if number is None else f"{number:f}"
    return ""


def _expression_in(text: str) -> str:
    """Return a text if it is an expression, with a unit or a reason after it; else empty."""
    if not text or len(text) > MAX_EXPRESSION_CHARS:
        return ""
    value = strip_markup(text.removesuffix("."))
    if value.count("$") % 2:  # the first one was stripped: $2\sqrt{2}$ cm
        value = value.partition("$")[0]
    plain = split_unit(_PERCENT.sub("", value))[0]
    return value if plain and not _plain_words(plain) else ""


def is_equal(found: str, truth: str) -> bool:
    r"""Return whether an expression equals the correct one.

    Units count where both have one; ``50\%`` is a half, and of a chain of equations each part
    without a variable must be equal. Raises ``TaskError`` if math-verify does not start.
    """
    wanted, wanted_unit = _value_and_unit(truth)
    if not is_expression(wanted):
        return normalized(_TEXT.sub(r"\1", found)) == normalized(_TEXT.sub(r"\1", truth))
    value, unit = _value_and_unit(found)
    if unit and wanted_unit and unit != wanted_unit:
        return False
    if bool(_RELATION.search(wanted)):
        if not _RELATION.search(value):
            wanted = _EQUALS.split(wanted)[-1].strip()
        return _equal(value, wanted)
    *parts, last = _EQUALS.split(value)
    if "%" in (unit, wanted_unit) and unit != wanted_unit:
        hundredth = f"({last if unit else wanted})/100"
        pairs = [(hundredth, wanted)] if unit else [(last, wanted), (last, hundredth)]
        return any(_equal(*pair) for pair in pairs)
    numeric = [
        part
        for part, sign in zip(parts[::2], parts[1::2], strict=True)
        if sign == "=" and not re.search(r"[^\W\d_]|^\s*$", _COMMAND.sub(" ", part))
    ]
    return _equal(last, wanted) and all(_equal(part, wanted) for part in numeric)


def _value_and_unit(text: str) -> tuple[str, str]:
    """Return an expression without its unit, and its unit; ``%`` is one."""
    value = strip_markup(strip_markup(text).removesuffix("."))
    if whole := _TEXT.fullmatch(value):
        value = whole[1]
    if _PERCENT.search(value):
        return _PERCENT.sub("", value), "%"
    value, unit = split_unit(value)
    return joined_digits(value), unit


def _equal(found: str, truth: str) -> bool:
    left, right = plain_number(found), plain_number(truth)
    if left is not None and right is not None and (
        left == right or max(-_exponent(left), -_exponent(right)) < _PRECISION
    ):  # fmt: skip
        return left == right
    if not _is_well_formed(found, truth):
        return False
    return _worker.compare([found, truth])


def _exponent(number: Decimal) -> int:
    return int(number.as_tuple().exponent)


def reference_equal(found: str, truth: str) -> bool:
    """Return whether math-verify's metric, as the reference uses it, calls an answer right."""
    return _worker.compare(["reference", found, truth])


def _is_well_formed(expression: str, truth: str) -> bool:
    """Check an answer: matching braces, no words, and a relation only if the truth has one."""
    depth = 0
    for sign in expression.replace("\\{", "").replace("\\}", ""):
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return False
    return (
        depth == 0
        and 0 < len(expression) <= MAX_EXPRESSION_CHARS
        and not _plain_words(expression)
        and (not _RELATION.search(expression) or bool(_RELATION.search(truth)))
    )


def _plain_words(text: str) -> set[str]:
    return set(_WORD.findall(_COMMAND.sub(" ", text).casefold())) - _FUNCTIONS


class _ComparisonWorker:
    """The worker process, started on first use and restarted after it ends."""

    _process: "subprocess.Popen[bytes] | None"

    def __init__(self) -> None:
        self.reset()

    def compare(self, request: list[str]) -> bool:
        """Answer a request; return False if the worker fails or times out."""
        with self._lock:
            reply = None
            try:
                process = self._ensure_running()
                _send(process, json.dumps(request))
                reply = _read_reply(process, TIMEOUT_SECONDS)
            finally:
                if reply is None:  # a late reply must not answer the next request
                    self.kill()
            return reply == b"equal\n"

    def kill(self) -> None:
        """Kill the process if it is running."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def reset(self) -> None:
        """Reset the state; after a fork, the worker belongs to the parent process."""
        self._lock = threading.Lock()
        self._process = None

    def _ensure_running(self) -> "subprocess.Popen[bytes]":
        process = self._process
        if process is None or process.poll() is not None:
            self._process = process = _start_process()
            if _read_reply(process, STARTUP_TIMEOUT_SECONDS) != b"ready\n":
                raise TaskError("math-verify does not start. Reinstall it.")
        return process


def _start_process() -> "subprocess.Popen[bytes]":
    program = Path(__file__).with_name("mathematics_worker.py")
    return subprocess.Popen(
        [sys.executable, "-I", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        cwd="/",
        env={},  # do not pass on API keys
    )


def _send(process: "subprocess.Popen[bytes]", line: str) -> None:
    with suppress(BrokenPipeError):
        if process.stdin is not None:
            process.stdin.write(line.encode() + b"\n")


def _read_reply(process: "subprocess.Popen[bytes]", timeout: float) -> bytes | None:
    """Read a line; return None after the timeout or if the process has ended."""
    if process.stdout is None:
        return None
    with DefaultSelector() as selector:
        selector.register(process.stdout, EVENT_READ)
        return process.stdout.readline() or None if selector.select(timeout) else None


_worker = _ComparisonWorker()
atexit.register(_worker.kill)
os.register_at_fork(after_in_child=_worker.reset)
