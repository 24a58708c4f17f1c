"""What a run of a task begins with: prompt, limits and documents."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent.experiments import suites
from agent.experiments.experiment import Experiment, Member
from agent.experiments.folder import ExperimentFolder
from agent.experiments.setup import set_up
from agent.models.builtin.install import BUILTIN_ID
from agent.settings import Settings

SUITE = suites.load("aa_lcr")


@pytest.fixture
def folder(tmp_path: Path) -> ExperimentFolder:
    return ExperimentFolder.create(tmp_path, Experiment(members=()), [SUITE])


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
def test_the_prompt_is_the_suites_unless_a_member_has_its_own(
    folder: ExperimentFolder, member: Member, prompt: str
) -> None:
    assert set_up(folder, (0, 0, 1), member, Settings()).prompt == prompt


def test_limits_are_the_papers_unless_a_member_has_its_own(folder: ExperimentFolder) -> None:
    settings = Settings(conversation_tokens=None, round_seconds=60)
    plain = Member(label="m", mode="plain", model="m")
    limits = set_up(folder, (0, 0, 1), plain, settings).limits_of_any(settings)
    assert (limits.steps, limits.conversation_tokens, limits.turn_tokens) == (100, 131_072, 65_536)
    assert limits.seconds == 60
    member = replace(plain, max_steps=5, max_tokens=100)
    limits = set_up(folder, (0, 0, 1), member, settings).limits_of_any(settings)
    assert (limits.steps, limits.turn_tokens) == (5, 100)


def test_no_limit_is_above_the_operators(folder: ExperimentFolder) -> None:
    settings = Settings(steps=7, conversation_tokens=1_000, turn_tokens=90)
    member = Member(label="m", mode="plain", model="m", max_steps=50, max_tokens=100)
    limits = set_up(folder, (0, 0, 1), member, settings).limits_of_any(settings)
    assert (limits.steps, limits.conversation_tokens, limits.turn_tokens) == (7, 1_000, 90)
