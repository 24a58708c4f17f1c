"""Set up the run of a task by a member: text, prompt, limits and documents."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from agent import prompts
from agent.compare.comparison import Member
from agent.evals.evaluation import SuiteInfo
from agent.evals.suite import EvalTask
from agent.events import Mode
from agent.limits import Limits, with_turn_tokens
from agent.models.builtin.install import BUILTIN_ID
from agent.models.builtin.model import BUILTIN_PROMPT
from agent.prompts import Prompt
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings
from agent.tasks.setup import write_files
from agent.tasks.task import Content
from agent.workspace.files import Workspace

_USUAL_PROMPT = "general"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetup:
    """What a run of an evaluation begins with.

    Attributes:
        name: The task's id, for messages.
        text: The task's text.
        prompt: The prompt: the suite's, the one that the member names, or the built-in model's.
        mode: The member's mode.
        network: What the sandbox may reach.
        limits: The limits of the round; ``agent.limits.adapt_to_model`` adapts them to a model.
        inputs: Documents for ``input/``: relative path → content.
    """

    name: str
    text: str
    prompt: Prompt
    mode: Mode
    network: NetworkPolicy
    limits: Limits
    inputs: Mapping[str, Content]

    def write_inputs(self, workspace: Workspace) -> None:
        """Write the documents into a new run's workspace.

        Raises:
            TaskError: One cannot be read or written.
        """
        write_files(self.name, self.inputs, workspace)


@cache
def _bundled(name: str) -> Prompt:
    """Return a bundled prompt, parsed once for all runs."""
    return prompts.get_bundled(name)


def set_up(suite: SuiteInfo, task: EvalTask, member: Member, settings: Settings) -> RunSetup:
    """Return what a member's run of a task begins with.

    No limit is above the operator's.

    Args:
        suite: The task's suite, whose limits are those of the paper.
        task: The task.
        member: The member; what it sets goes before what the suite says.
        settings: The operator's limits, also for what neither says.
    """
    usual, of_suite = settings.limits(), suite.limits
    limits = replace(
        with_turn_tokens(usual, member.max_tokens or of_suite.turn_tokens),
        steps=min(member.max_steps or of_suite.steps, settings.max_steps),
        conversation_tokens=min(
            of_suite.conversation_tokens, usual.conversation_tokens or of_suite.conversation_tokens
        ),
        summarise=False,
    )
    return RunSetup(
        name=task.id, text=task.text, prompt=_bundled(_prompt_name(suite, member)),
        mode=member.mode,
        network=NetworkPolicy(member.network, member.hosts), limits=limits, inputs=task.inputs,
    )  # fmt: skip


def _prompt_name(suite: SuiteInfo, member: Member) -> str:
    """Return the prompt that a member names, else the suite's.

    In the sandbox the built-in model has the only prompt that it was trained with.
    """
    if member.prompt != _USUAL_PROMPT:
        return member.prompt
    if member.model == BUILTIN_ID and member.mode == "sandbox":
        return BUILTIN_PROMPT
    return suite.prompt
