"""What a member is asked for with a task."""

from dataclasses import replace

from agent.experiments.experiment import Member, SuiteInfo
from agent.experiments.folder import ExperimentFolder, Key
from agent.experiments.suites.presets import follow_sampling
from agent.models.builtin.install import BUILTIN_ID
from agent.models.builtin.model import BUILTIN_PROMPT
from agent.models.parameters import MAX_SEED, PARAMETERS
from agent.runs.spec import USUAL_PROMPT, RunSpec
from agent.settings import Settings


def set_up(folder: ExperimentFolder, key: Key, member: RunSpec, settings: Settings) -> RunSpec:
    """Return what a member is asked for with a task; no limit is above the operator's.

    The member goes before the suite; each repetition has the next seed, to differ from the others.
    """
    task, _, repetition = key
    asked = replace(member, task=folder.tasks[task].text)
    if not folder.definition.suites:
        return _seeded(asked, repetition)
    suite = folder.suite_of[task]
    of_suite = suite.limits
    asked = asked.completed(suite.parameters)
    asked = _seeded(follow_sampling(asked) if suite.preset else asked, repetition)
    longest = settings.limits().conversation_tokens or of_suite.conversation_tokens
    return replace(
        asked,
        prompt=_prompt_name(suite, member),
        max_steps=min(member.max_steps or of_suite.steps, settings.max_steps),
        max_conversation_tokens=min(of_suite.conversation_tokens, longest),
        max_tokens=asked.max_tokens or of_suite.turn_tokens,
        summarise=False,
    )


def with_request(member: Member, asked: RunSpec) -> Member:
    """Return a member with the request parameters of one of its runs; limits are apart."""
    names = (each.name for each in PARAMETERS if each.name != "max_tokens")
    return replace(member, **{name: getattr(asked, name) for name in names})


def _seeded(asked: RunSpec, repetition: int) -> RunSpec:
    if asked.seed is None:
        return asked
    return replace(asked, seed=(asked.seed + repetition - 1) % (MAX_SEED + 1))


def _prompt_name(suite: SuiteInfo, member: RunSpec) -> str:
    """Return the prompt that a member names; else the suite's, or the built-in model's only one."""
    if member.prompt != USUAL_PROMPT:
        return member.prompt
    if member.model == BUILTIN_ID and member.mode == "sandbox":
        return BUILTIN_PROMPT
    return suite.prompt
