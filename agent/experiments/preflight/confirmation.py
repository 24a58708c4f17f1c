"""What a command prints before the first run of an evaluation, and its question."""

import sys
from collections.abc import Callable

from agent.experiments.preflight.checks import Preflight
from agent.experiments.preflight.estimate import Estimate
from agent.util.text import format_duration, plural

_MARKS = {"ok": "ok", "warning": "WARNING", "problem": "PROBLEM"}


class Confirmation:
    """Says what was checked; without a problem, asks on a terminal, and else goes on."""

    def __init__(self, say: Callable[[str], None], *, ask: bool) -> None:
        self._say = say
        self._ask = ask

    def __call__(self, found: Preflight) -> bool:
        """Say what was found; return whether to start."""
        for each in found.findings:
            self._say(f"{_MARKS[each.level]:>8}  {each.what}: {each.text}")
        self._say(f"estimate  {in_words(found.estimate)}")
        if found.problems:
            self._say("Nothing was started: mend the problems first.")
            return False
        return not self._ask or is_confirmed("Start?")


def is_confirmed(question: str) -> bool:
    """Ask a question on the terminal; without one, the answer is yes."""
    if not (sys.stdin and sys.stdin.isatty()):
        return True
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def in_words(estimate: Estimate) -> str:
    """Return an estimate as a sentence or two."""
    parts = [plural(estimate.runs, "run")]
    if estimate.votes:
        parts.append(f"{plural(estimate.votes, 'vote')} of the judge")
    if estimate.prompt_tokens is not None:
        parts.append(f"about {estimate.prompt_tokens:,} prompt tokens")
    if estimate.generated_tokens is not None:
        parts.append(f"{estimate.generated_tokens:,} generated tokens")
    if estimate.seconds is not None:
        parts.append(format_duration(estimate.seconds))
    if estimate.cost is not None:
        parts.append(f"{estimate.cost:,.2f} in the unit of the configured price")
    return f"{', '.join(parts)}. {estimate.basis}"
