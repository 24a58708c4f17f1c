"""What a run of a task begins with: prompt, limits and documents."""

import pytest

from agent.compare.comparison import Member
from agent.evals import suites
from agent.evals.evaluation import SuiteInfo
from agent.evals.setup import set_up
from agent.limits import Limits
from agent.models.builtin.install import BUILTIN_ID

SUITE = suites.load("aa_lcr")
INFO = SuiteInfo.of(SUITE, "")


@pytest.mark.parametrize(
    ("member", "prompt"),
    [
        (Member(label="m", mode="plain", model="m"), "long_context"),
        (Member(label="m", mode="sandbox", model="m"), "long_context"),
        (Member(label="m", mode="sandbox", model="m", prompt="math"), "math"),
        (Member(label="m", mode="plain", model=BUILTIN_ID), "long_context"),
        (Member(label="m", mode="sandbox", model=BUILTIN_ID), "small"),
    ],
)
def test_the_prompt_is_the_suites_unless_a_member_has_its_own(member: Member, prompt: str) -> None:
    assert set_up(INFO, SUITE.tasks[0], member, Limits()).prompt.name == prompt


def test_limits_are_the_papers_unless_a_member_has_its_own() -> None:
    usual = Limits(steps=7, conversation_tokens=None, seconds=60, summarise=True)
    limits = set_up(INFO, SUITE.tasks[0], Member(label="m", mode="plain", model="m"), usual).limits
    assert (limits.steps, limits.conversation_tokens, limits.turn_tokens) == (100, 131_072, 65_536)
    assert limits.seconds == 60
    assert not limits.summarise
    member = Member(label="m", mode="plain", model="m", max_steps=5, max_tokens=100)
    limits = set_up(INFO, SUITE.tasks[0], member, usual).limits
    assert (limits.steps, limits.turn_tokens) == (5, 100)
    for each in (member, Member(label="m", mode="plain", model="m")):
        assert set_up(INFO, SUITE.tasks[0], each, Limits(turn_tokens=40)).limits.turn_tokens == 40


def test_documents_become_files() -> None:
    found = set_up(INFO, SUITE.tasks[0], Member(label="m", mode="sandbox", model="m"), Limits())
    assert list(found.inputs) == ["report_2023.txt", "report_2024.txt", "letter_to_owners.txt"]
