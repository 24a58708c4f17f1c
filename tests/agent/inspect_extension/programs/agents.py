"""Evaluations with ``llm_in_sandbox``: our sample, limits, and a published one."""

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import exact
from inspect_ai.solver import generate
from inspect_evals.agent_bench import agent_bench_os

from agent.inspect_extension import llm_in_sandbox, sample
from tests.agent.inspect_extension.programs.scripted import Turn, report, scripted

BASH, EDITOR = "execute_bash", "str_replace_editor"
SUBMIT: Turn = ("submit", {})
QUESTION = 7


def solve_the_sample() -> None:
    model = scripted(
        (BASH, {"command": "cd /tmp; echo 9592 > ../workspace/output/answer.txt"}),
        (BASH, {"command": "pwd; false", "is_input": "false"}),
        (EDITOR, {"command": "view", "path": "output/answer.txt", "view_range": "[1, 1]"}),
        (EDITOR, {"command": "undo_edit", "path": "/workspace/output/answer.txt"}),
        "I am done.",
        SUBMIT,
    )
    report(eval(sample(), model=model, solver=llm_in_sandbox(), sandbox="studio",
                limit=1, display="none"))  # fmt: skip


def reach_limits() -> None:
    """Reach the limit of steps, and one of Inspect's."""
    write = (BASH, {"command": "echo 7 > output/answer.txt"})
    task = Task(
        dataset=[Sample(input="What is 3 + 4?", target="7", files={"input/a.txt": "3 4"})],
        scorer=exact(),
        sandbox="studio",
    )
    look = (BASH, {"command": "ls"})
    model = scripted(write, look, look)
    report(eval(task, model=model, solver=llm_in_sandbox(max_steps=2), display="none"))
    model = scripted(write, look, look)
    report(eval(task, model=model, solver=llm_in_sandbox("math"), display="none",
                token_limit=20))  # fmt: skip


def published() -> None:
    """Compare ``generate()`` with ``llm_in_sandbox()`` on a question of AgentBench."""
    for solver, turns in (
        (generate(), ["12"]),
        (llm_in_sandbox(), [
            (BASH, {"command": "ls -1 /home/agent | grep -c '^[[:alnum:]]' > output/answer.txt"}),
            SUBMIT,
        ]),
    ):  # fmt: skip
        task = agent_bench_os(split="dev", solver=solver)
        (question,) = (each for each in task.dataset if each.id == QUESTION)
        # Instead of an image from the network: what its Dockerfile does for this question.
        code = (question.metadata or {})["create"]["init"]["code"]
        question.setup = f"mkdir -p /home/agent && cd /home/agent || exit 1\n{code}"
        report(eval(task, model=scripted(*turns), sandbox="studio",
                    sample_id=QUESTION, display="none"))  # fmt: skip


solve_the_sample()
reach_limits()
published()
