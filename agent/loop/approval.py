"""Rules by which calls wait for the user's approval."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal, get_args

from agent.errors import UsageError
from agent.events import ApprovalReason
from agent.tools.actions import Action, Bash, Submit

if TYPE_CHECKING:
    from agent.capabilities.parsed import CallReader

Rule = Literal["every", "network", "delete", "install", "long"]
RULES: tuple[Rule, ...] = get_args(Rule)
RISKY: tuple[Rule, ...] = ("network", "delete", "install", "long")
"""The rules for calls that reach beyond the run's own files, lose some, or take long."""

LONG_SECONDS = 120.0
"""A command that asks for a higher time limit is a long one."""


def parse_rules(names: Iterable[str]) -> tuple[Rule, ...]:
    """Return the rules with these names, in their usual order; ``risky`` names several."""
    given = {names} if isinstance(names, str) else set(names)
    wanted = given - {"risky"} | (set(RISKY) if "risky" in given else set())
    unknown = sorted(str(name)[:40] for name in wanted if name not in RULES)
    if unknown:
        raise UsageError(
            f"“{unknown[0]}” is not a rule for approval. The rules are {', '.join(RULES)}."
        )
    return tuple(rule for rule in RULES if rule in wanted)


class CallChecker:
    """Finds the rules that a call matches by its text; only the sandbox limits a command."""

    def __init__(self, read_file: Callable[[str], str | None]) -> None:
        self._read_file = read_file
        self._reader: CallReader | None = None

    def reasons(self, action: Action, rules: Iterable[Rule]) -> tuple[ApprovalReason, ...]:
        """Return why a call waits; nothing if no rule matches it. ``submit`` never waits."""
        wanted = set(rules)
        if not wanted or isinstance(action.operation, Submit):
            return ()
        if "every" in wanted:
            return ("every",)
        return tuple(each for each in self._found(action) if each in wanted or each == "unclear")

    def _found(self, action: Action) -> Iterator[ApprovalReason]:
        from agent.capabilities.parsed import CallReader  # a run without rules never needs it

        self._reader = self._reader or CallReader(self._read_file)
        found = self._reader.read(action.name, action.arguments)
        if found.external:
            yield "network"
        if found.deletes:
            yield "delete"
        if found.installs:
            yield "install"
        operation = action.operation
        if isinstance(operation, Bash) and (operation.timeout or 0.0) > LONG_SECONDS:
            yield "long"
        if found.partial:
            yield "unclear"
