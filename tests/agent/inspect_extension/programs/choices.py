"""Multiple choice questions: the model alone, the agent, and the agent in the task's own solver."""

import json
from collections.abc import Sequence

from inspect_ai import Task, eval
from inspect_ai.agent import Agent
from inspect_ai.dataset import Sample
from inspect_ai.scorer import choice
from inspect_ai.solver import Solver, multiple_choice, system_message

from agent.inspect_extension import in_sandbox, llm_in_sandbox
from tests.agent.inspect_extension.programs.scripted import Turn, scripted

TEMPLATE = "{question}\n\n{choices}\n\nPick from {letters}."


def written(answer: str) -> list[Turn]:
    """Return the turns of a model that writes an answer and submits."""
    return [("execute_bash", {"command": f"echo '{answer}' > output/answer.txt"}), ("submit", {})]


def squares(*targets: str | list[str]) -> Task:
    """Return a task with a question for each target."""
    choices = ["9", "8", "4"]
    return Task(
        dataset=[Sample(input="Squares?", choices=choices, target=each) for each in targets],
        solver=[system_message("You know numbers."), multiple_choice(template=TEMPLATE)],
        scorer=choice(),
        sandbox="studio",
    )


def report(
    name: str,
    task: Task,
    turns: Sequence[Turn],
    solver: Solver | Agent | None = None,
    token_limit: int | None = None,
) -> None:
    """Print what the test reads as one line of JSON."""
    (log,) = eval(
        task, model=scripted(*turns), solver=solver, token_limit=token_limit,
        max_samples=1, display="none",
    )  # fmt: skip
    samples = log.samples or []
    question = next(each.text for each in samples[0].messages if each.role == "user")
    scores = [(each.scores or {})["choice"] for each in samples]
    found = [(score.value, score.answer) for score in scores]
    print(json.dumps({"name": name, "question": question, "scores": found}))


report("alone", squares("A"), ["ANSWER: A"])
report(
    "agent",
    squares("A", "A", "A", "A"),
    [*written("(a)"), *written("ANSWER: B"), *written("A and C"), *["Thus: ANSWER: A"] * 3],
    llm_in_sandbox(),
)
report(
    "several",
    squares(["A", "C"], "A"),
    [*written("C, A"), *written("Both.\nANSWER: A, C")],
    llm_in_sandbox(multiple_correct=True, cot=True),
)
report("own", squares("C"), written("C"), in_sandbox(squares("C").solver, max_steps=9))
# The second turn exceeds the limit; the answer that was written counts.
report("limit", squares("C"), written("C"), in_sandbox(squares("C").solver), token_limit=20)
report("limited agent", squares("C"), written("C"), llm_in_sandbox(), token_limit=20)
