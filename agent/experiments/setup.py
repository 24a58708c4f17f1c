"""What a member is asked for with a task."""

from dataclasses import replace

from agent.experiments.experiment import SuiteInfo
from agent.experiments.folder import ExperimentFolder
from agent.models.builtin.install import BUILTIN_ID
from agent.models.builtin.model import BUILTIN_PROMPT
from agent.runs.spec import USUAL_PROMPT, RunSpec
from agent.settings import Settings


def set_up(folder: ExperimentFolder, task: int, member: RunSpec, settings: Settings) -> RunSpec:
    """Return what a member is asked for with a task; no limit is above the operator's.

    What the member sets goes before what the suite says, whose limits are those of the paper.
    """
    asked = replace(member, task=folder.tasks[task].text)
    if not folder.definition.suites:
        return asked
    suite = folder.suite_of[task]
    of_suite = suite.limits
    longest = settings.limits().conversation_tokens or of_suite.conversation_tokens
    return replace(
        asked,
        prompt=_prompt_name(suite, member),
        max_steps=min(member.max_steps or of_suite.steps, settings.max_steps),
        max_conversation_tokens=min(of_suite.conversation_tokens, longest),
        max_tokens=member.max_tokens or of_suite.turn_tokens,
        summarise=False,
    )


def _prompt_name(suite: SuiteInfo, member: RunSpec) -> str:
    """Return the prompt that a member names, else the suite's.

    In the sandbox the built-in model has the only prompt that it was trained with.
    """
    if member.prompt != USUAL_PROMPT:
        return member.prompt
    if member.model == BUILTIN_ID and member.mode == "sandbox":
        return BUILTIN_PROMPT
    return suite.prompt
