"""Scripts that answer from the conversation alone, so that they continue any of its forms."""

import re

from tests.support.models.turns import Turn
from tests.support.servers.server import Script, Seen

SUMMARY_REQUEST = "Write a summary"


def bash(*commands: str, reasoning: str = "", text: str = "") -> Turn:
    calls = [("execute_bash", {"command": command}) for command in commands]
    return Turn(text, reasoning, calls)


def submit(text: str = "All is done.", reasoning: str = "") -> Turn:
    return Turn(text, reasoning, [("submit", {})])


def in_order(*commands: str) -> Script:
    """Run the commands that were not run yet, one in each turn, then submit."""

    def answer(seen: Seen) -> Turn:
        rest = [each for each in commands if each not in seen.commands]
        if rest:
            return bash(rest[0], reasoning=f"The next command is {rest[0]!r}.")
        return submit(reasoning="Nothing is left to do.")

    return answer


def by_last_user(**scripts: Script) -> Script:
    """Choose the script whose name the user said last."""

    def answer(seen: Seen) -> Turn:
        said = re.findall("|".join(scripts), "\n".join(seen.users))
        return scripts[said[-1]](seen)

    return answer


def counting(last: int, command: str, summary: str = "") -> Script:
    """Run a command so many times, numbered, then submit; ``summary`` is what it summarises."""

    def answer(seen: Seen) -> Turn:
        if summary and SUMMARY_REQUEST in seen.users[-1]:
            return Turn(summary, "What matters is the count.")
        counts = [int(n) for c in seen.commands for n in re.findall(r"# count (\d+)", c)]
        number = max(counts, default=0) + 1
        if number > last:
            return submit(reasoning="The count is complete.")
        return bash(f"{command} # count {number}", reasoning=f"Now {number}.")

    return answer
