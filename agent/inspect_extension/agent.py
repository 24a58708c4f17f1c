"""``llm_in_sandbox()``, the paper's agent, alone and in an evaluation's own solver."""

from typing import Any

from inspect_ai.agent import Agent, AgentState, agent
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from agent.inspect_extension.choices import ChoiceQuestion, normalize_answer
from agent.inspect_extension.config import registered_name
from agent.inspect_extension.loop import AgentLoop, Options, find_environment


@agent(name=registered_name("llm_in_sandbox"))
def llm_in_sandbox(
    prompt: str = "general",
    max_steps: int = 100,
    reminders: int = 2,
    multiple_correct: bool = False,
    cot: bool = False,
) -> Agent:
    """Work on the task in the sandbox with the paper's prompts and three tools.

    The model sees the same prompts, tools, results, reminders and remaining steps as in a run of
    the studio. The completion, which scorers read, is the text of ``output/answer.txt``, else
    the model's last text; also where one of Inspect's limits ends the sample. A sample's choices
    are asked and marked as by Inspect's ``multiple_choice()``.

    Args:
        prompt: The name of a bundled prompt, such as ``math``, or the path of a file.
        max_steps: Maximum number of model turns.
        reminders: Consecutive reminders to use a tool before a plain answer ends the work.
        multiple_correct: Whether several of a sample's choices may be right.
        cot: Whether a question with choices asks for reasoning before the answer.
    """
    options = Options.check(prompt, max_steps, reminders)

    async def execute(state: AgentState) -> AgentState:
        """Work on the task in a sandbox."""
        loop = AgentLoop(state, options, find_environment())
        question = ChoiceQuestion.find(state, multiple_correct=multiple_correct, cot=cot)
        if question is None:
            await loop.carry_out()
            return state
        question.ask(state)
        try:
            await loop.carry_out()
        finally:
            question.mark(state)
        return state

    return execute


@solver(name=registered_name("in_sandbox"))
def in_sandbox(
    own: Solver, prompt: str = "general", max_steps: int = 100, reminders: int = 2
) -> Solver:
    """Carry out an evaluation's own solver with ``llm_in_sandbox`` in place of the model.

    What the solver does before and after ``generate()`` stays as it is: its prompts, templates
    and choices. What it passes to ``generate()``, such as a length, is meant for a plain answer
    and has no effect.

    Args:
        own: The solver, such as the ``solver`` of the task.
        prompt: See ``llm_in_sandbox``.
        max_steps: See ``llm_in_sandbox``.
        reminders: See ``llm_in_sandbox``.
    """
    options = Options.check(prompt, max_steps, reminders)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        exceeded: list[LimitExceededError] = []

        async def work(state: TaskState, *_: Any, **__: Any) -> TaskState:
            if exceeded:
                raise exceeded[0]
            try:
                await _work_on_sample(state, options)
            except LimitExceededError as error:
                exceeded.append(error)  # the solver still reads the answer
            return state

        state = await own(state, work)
        if exceeded:
            raise exceeded[0]
        return state

    return solve


async def _work_on_sample(state: TaskState, options: Options) -> None:
    agent_state = AgentState(messages=state.messages)
    try:
        await AgentLoop(agent_state, options, find_environment()).carry_out()
    finally:
        state.messages, state.output = agent_state.messages, agent_state.output
        normalize_answer(state)
