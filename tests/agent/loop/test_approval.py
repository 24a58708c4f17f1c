"""The rules by which calls wait for approval."""

import pytest

from agent.errors import UsageError
from agent.loop.approval import RISKY, CallChecker, Rule, parse_rules
from agent.tools.actions import Action, Bash, Submit


def reasons(command: str, *rules: Rule, timeout: float | None = None) -> tuple[str, ...]:
    action = Action(Bash(command, timeout=timeout))
    return CallChecker(lambda _path: None).reasons(action, rules)


@pytest.mark.parametrize(
    ("command", "reason"),
    [("curl -s https://example.org", "network"), ("rm -rf output", "delete"),
     ("python3 -c 'import requests; requests.get(\"https://example.org/\")'", "network"),
     ("find . -name '*.tmp' -delete", "delete"), ("ls | xargs rm", "delete"),
     ("python3 -c 'import shutil; shutil.rmtree(\"x\")'", "delete"),
     ("pip install rdkit", "install")],
)  # fmt: skip
def test_a_call_waits_only_for_the_rules_that_are_set(command: str, reason: Rule) -> None:
    assert reason in reasons(command, *RISKY)
    others: tuple[Rule, ...] = tuple(rule for rule in RISKY if rule not in (reason, "network"))
    assert reason not in reasons(command, *others)
    assert reasons(command) == ()


def test_a_command_whose_text_cannot_be_read_to_its_end_waits_under_any_rule() -> None:
    nested = "true; " * 100_000
    assert reasons(nested, "delete") == ("unclear",)
    assert reasons(nested) == ()


def test_a_call_over_two_minutes_is_long_and_every_call_but_submit_waits_for_every() -> None:
    assert reasons("make", "long", timeout=121.0) == ("long",)
    assert reasons("make", "long", timeout=120.0) == ()
    assert reasons("ls", "every") == ("every",)
    assert CallChecker(lambda _path: None).reasons(Action(Submit()), ("every",)) == ()


def test_risky_names_several_rules_and_an_unknown_name_is_refused() -> None:
    assert parse_rules(["risky"]) == RISKY
    assert parse_rules(["long", "every"]) == ("every", "long")
    with pytest.raises(UsageError, match="“sudo” is not a rule"):
        parse_rules(["sudo"])
