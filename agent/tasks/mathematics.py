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
from agent.installation import pip_install
from agent.tasks.answer_extraction import final

LONGEST = 1_000
"""Maximum length of an expression in characters; longer ones are not compared."""
SECONDS = 5.0
"""Time limit of a comparison in seconds."""
LOADING = 60.0
"""Time limit for starting the process in seconds, long enough for a busy machine."""

_COMMAND = re.compile(r"\\[A-Za-z]+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_FUNCTIONS = frozenset(["sin", "cos", "tan", "exp", "log", "ln", "sqrt", "pi", "mod"])
_MATHEMATICAL = re.compile(r"[\d\\^=+]|^[^\W\d_]$")
_WHEN = re.compile(r"(?<!\d)\d++([-/.])\d++\1\d|\d:\d\d")
# R2D2, 7h05: letters followed by digits are not products; 2x is one.
_CODE = re.compile(r"[^\W\d_]\d")
_CLAIM = re.compile(r"[=<>≤≥≠]|\\(?:eq|neq?|leq?|geq?|lt|gt)\b")


def mathematical(truth: str) -> bool:
    """Return whether a correct answer is an expression.

    Dates, times and texts with numbers are not expressions.
    """
    if len(truth) > LONGEST or _words(truth) or _WHEN.search(truth) or _coded(truth):
        return False
    if _CLAIM.search(truth) and not re.search(r"[^\W\d_]", _COMMAND.sub(" ", truth)):
        return False  # 1 < 2 would equal every other true relation
    return bool(_MATHEMATICAL.search(truth))


def equal(answer: str, truth: str) -> bool:
    """Return whether an answer is an expression equal to the correct one.

    Expressions are not extracted from sentences: an answer (see ``final``) that contains words
    is not equal to any expression.

    Raises:
        TaskError: ``math-verify`` is not installed and the correct answer is an expression.
    """
    if not mathematical(truth):
        return False
    if find_spec("math_verify") is None:
        raise TaskError(
            "To compare mathematical answers, math-verify is needed: "
            + pip_install("requirements-train.txt")
        )
    said = final(answer)
    if said is None or len(said) > LONGEST or _words(said) or not _shaped(said, truth):
        return False
    return _worker.ask(said, final(truth) or truth)


def _shaped(said: str, truth: str) -> bool:
    """Return whether an answer has matching braces and no unexpected relation.

    It may assign a value to a variable; other relations are valid only if ``truth`` has one.
    """
    depth = 0
    for sign in said.replace("\\{", "").replace("\\}", ""):
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return False
    claims = _CLAIM.findall(said)
    named = len(claims) == 1 and claims[0] == "=" and len(said.partition("=")[0].strip()) == 1
    return depth == 0 and (
        not claims or bool(_CLAIM.search(truth)) or (named and said.strip()[0].isalpha())
    )


def _coded(text: str) -> bool:
    return bool(_CODE.search(_COMMAND.sub(" ", text)))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(_COMMAND.sub(" ", text).casefold())) - _FUNCTIONS


class _Worker:
    """The worker process, started on first use and restarted after it ends."""

    _process: "subprocess.Popen[bytes] | None"

    def __init__(self) -> None:
        self.forget()

    def ask(self, answer: str, truth: str) -> bool:
        """Compare two expressions; return False if the worker fails or times out."""
        with self._lock:
            said = None
            try:
                process = self._running()
                _send(process, json.dumps([answer, truth]))
                said = _received(process, SECONDS)
            finally:
                if said is None:  # a late reply must not answer the next request
                    self.end()
            return said == b"equal\n"

    def end(self) -> None:
        """Kill the process if it is running."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def forget(self) -> None:
        """Reset the state; after a fork, the worker belongs to the parent process."""
        self._lock = threading.Lock()
        self._process = None

    def _running(self) -> "subprocess.Popen[bytes]":
        process = self._process
        if process is None or process.poll() is not None:
            self._process = process = _started()
            if _received(process, LOADING) != b"ready\n":
                raise TaskError("math-verify does not start; install it again.")
        return process


def _started() -> "subprocess.Popen[bytes]":
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


def _received(process: "subprocess.Popen[bytes]", seconds: float) -> bytes | None:
    """Read a line; return None after the timeout or if the process has ended."""
    if process.stdout is None:
        return None
    with DefaultSelector() as selector:
        selector.register(process.stdout, EVENT_READ)
        return process.stdout.readline() or None if selector.select(seconds) else None


_worker = _Worker()
atexit.register(_worker.end)
os.register_at_fork(after_in_child=_worker.forget)
