r"""Whether two expressions are equal, said by math-verify in a process of its own.

What a model writes can keep a computer algebra system at work for ever, or take all memory
(``10^{10^{10}}``), and math-verify's own time limit holds in the main thread only. So one
process is asked line by line; it has little memory, and when it takes too long it is ended and
what it was asked is not equal.
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
from agent.tasks.final import final

LONGEST = 1_000
"""Characters of an expression; what is longer is not compared."""
SECONDS = 5.0
"""What a comparison may take."""
LOADING = 60.0
"""What the process may take to begin; a machine may be busy."""

_COMMAND = re.compile(r"\\[A-Za-z]+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_FUNCTIONS = frozenset(["sin", "cos", "tan", "exp", "log", "ln", "sqrt", "pi", "mod"])
_MATHEMATICAL = re.compile(r"[\d\\^=+]|^[^\W\d_]$")
_WHEN = re.compile(r"\d+([-/.])\d+\1\d+|\d:\d\d")
# Room R2D2, 7h05: letters with numbers behind them are no products; 2x is one.
_CODE = re.compile(r"[^\W\d_]\d")
_CLAIM = re.compile(r"[=<>≤≥≠]|\\(?:eq|neq?|leq?|geq?|lt|gt)\b")


def mathematical(truth: str) -> bool:
    """Whether a right answer is an expression: no date or time, no text with numbers in it."""
    if len(truth) > LONGEST or _words(truth) or _WHEN.search(truth) or _coded(truth):
        return False
    if _CLAIM.search(truth) and not re.search(r"[^\W\d_]", _COMMAND.sub(" ", truth)):
        return False  # 1 < 2 is true, as every other true relation is
    return bool(_MATHEMATICAL.search(truth))


def equal(answer: str, truth: str) -> bool:
    """Whether an answer is an expression that equals the right one.

    Expressions are compared, never found in a sentence: an answer (see ``final``) with words
    in it equals nothing.

    Raises:
        TaskError: ``math-verify`` is not installed, and the right answer is mathematical.
    """
    if not mathematical(truth):
        return False
    if find_spec("math_verify") is None:
        raise TaskError(
            "To compare mathematical answers, math-verify is needed: "
            "pip install -r requirements-train.txt"
        )
    said = final(answer)
    if said is None or len(said) > LONGEST or _words(said) or not _shaped(said, truth):
        return False
    return _worker.ask(said, final(truth) or truth)


def _shaped(said: str, truth: str) -> bool:
    """Whether it says one thing: no claim besides that of a letter's value, no loose bracket."""
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
    """The process, started when it is first needed and again after it was ended."""

    _process: "subprocess.Popen[bytes] | None"

    def __init__(self) -> None:
        self.forget()

    def ask(self, answer: str, truth: str) -> bool:
        """Its word on the two; no where it fails or takes too long."""
        with self._lock:
            said = None
            try:
                process = self._running()
                _send(process, json.dumps([answer, truth]))
                said = _received(process, SECONDS)
            finally:
                if said is None:  # what it may yet say is no answer to the next question
                    self.end()
            return said == b"equal\n"

    def end(self) -> None:
        """End it, where there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def forget(self) -> None:
        """Begin anew: in a process that was forked, the old one is its parent's."""
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
        env={},  # no key is within its reach
    )


def _send(process: "subprocess.Popen[bytes]", line: str) -> None:
    with suppress(BrokenPipeError):
        if process.stdin is not None:
            process.stdin.write(line.encode() + b"\n")


def _received(process: "subprocess.Popen[bytes]", seconds: float) -> bytes | None:
    """The line that it writes; None where it does not in time, or has ended."""
    if process.stdout is None:
        return None
    with DefaultSelector() as selector:
        selector.register(process.stdout, EVENT_READ)
        return process.stdout.readline() or None if selector.select(seconds) else None


_worker = _Worker()
atexit.register(_worker.end)
os.register_at_fork(after_in_child=_worker.forget)
