r"""Compare expressions with math-verify in a separate process.

An expression from a model can keep a computer algebra system busy forever or exhaust memory
(``10^{10^{10}}``), and math-verify's own time limit works in the main thread only. So a worker
process with a memory limit handles one request per line. If it exceeds the time limit, it is
killed and the expressions count as not equal.
"""

import atexit
import json
import os
import re
import subprocess
import sys
import threading
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector

from agent.errors import TaskError
from agent.installation import install_hint
from agent.tasks.answer_extraction import extract_final_answer

MAX_EXPRESSION_CHARS = 1_000
"""Maximum length of an expression in characters; longer ones are not compared."""
TIMEOUT_SECONDS = 5.0
"""Time limit of a comparison in seconds."""
STARTUP_TIMEOUT_SECONDS = 60.0
"""Time limit for starting the process in seconds, long enough for a busy machine."""

_COMMAND = re.compile(r"\\[A-Za-z]+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_FUNCTIONS = frozenset(["sin", "cos", "tan", "exp", "log", "ln", "sqrt", "pi", "mod"])
_MATHEMATICAL = re.compile(r"[\d\\^=+]|^[^\W\d_]$")
_DATE_OR_TIME = re.compile(r"(?<!\d)\d++([-/.])\d++\1\d|\d:\d\d")
# R2D2, 7h05: letters followed by digits are not products; 2x is one.
_LETTER_THEN_DIGIT = re.compile(r"[^\W\d_]\d")
_RELATION = re.compile(r"[=<>≤≥≠]|\\(?:eq|neq?|leq?|geq?|lt|gt)\b")


def is_expression(truth: str) -> bool:
    """Return whether a correct answer is an expression.

    Dates, times and texts with numbers are not expressions.
    """
    if (
        len(truth) > MAX_EXPRESSION_CHARS
        or _plain_words(truth)
        or _DATE_OR_TIME.search(truth)
        or _contains_code(truth)
    ):
        return False
    if _RELATION.search(truth) and not re.search(r"[^\W\d_]", _COMMAND.sub(" ", truth)):
        return False  # 1 < 2 would equal every other true relation
    return bool(_MATHEMATICAL.search(truth))


def expressions_equal(answer: str, truth: str) -> bool:
    """Return whether an answer is an expression equal to the correct one.

    Expressions are not extracted from sentences: an answer (see ``extract_final_answer``) that
    contains words is not equal to any expression.

    Raises:
        TaskError: ``math-verify`` is not installed and the correct answer is an expression.
    """
    if not is_expression(truth):
        return False
    if find_spec("math_verify") is None:
        raise TaskError(
            "Mathematical answers cannot be compared: math-verify is missing in this studio. "
            + install_hint("requirements-train.txt")
        )
    expression = extract_final_answer(answer)
    if (
        expression is None
        or len(expression) > MAX_EXPRESSION_CHARS
        or _plain_words(expression)
        or not _is_well_formed(expression, truth)
    ):
        return False
    return _worker.compare(expression, extract_final_answer(truth) or truth)


def _is_well_formed(expression: str, truth: str) -> bool:
    """Return whether an answer has matching braces and no unexpected relation.

    It may assign a value to a variable; other relations are valid only if ``truth`` has one.
    """
    depth = 0
    for sign in expression.replace("\\{", "").replace("\\}", ""):
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return False
    relations = _RELATION.findall(expression)
    is_assignment = (
        len(relations) == 1
        and relations[0] == "="
        and len(expression.partition("=")[0].strip()) == 1
    )
    return depth == 0 and (
        not relations
        or bool(_RELATION.search(truth))
        or (is_assignment and expression.strip()[0].isalpha())
    )


def _contains_code(text: str) -> bool:
    return bool(_LETTER_THEN_DIGIT.search(_COMMAND.sub(" ", text)))


def _plain_words(text: str) -> set[str]:
    return set(_WORD.findall(_COMMAND.sub(" ", text).casefold())) - _FUNCTIONS


class _ComparisonWorker:
    """The worker process, started on first use and restarted after it ends."""

    _process: "subprocess.Popen[bytes] | None"

    def __init__(self) -> None:
        self.reset()

    def compare(self, answer: str, truth: str) -> bool:
        """Compare two expressions; return False if the worker fails or times out."""
        with self._lock:
            reply = None
            try:
                process = self._ensure_running()
                _send(process, json.dumps([answer, truth]))
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
