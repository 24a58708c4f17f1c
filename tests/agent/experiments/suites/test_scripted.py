"""All samples in both modes: a scripted endpoint that knows the answers, and one as the judge."""

import re
import shlex

import pytest

from agent import Studio
from agent.experiments import suites
from agent.experiments.experiment import Judge
from agent.experiments.suite import EvalTask
from tests.agent.api.conftest import settings, studio
from tests.support.evaluations.suites import members, of_domain
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Body, Turn

__all__ = ["settings", "studio"]

TEXTS = {
    "count:numbers": "2496",
    "format:no_whitespace": "9469",
    "format:options": "no",
    "ratio:sentence_words": "Air scatters light. Blue waves do best. Red passes onwards.",
    "format:parentheses": "The key (small [old {brass (very [worn])}]) is lost.",
    "words:alphabet": "Always balance carefully.",
    "sentence:keyword": "Gates hold the water. A ship enters. Someone turns a lever.",
    "count:word_count_range": (
        "Grey light spreads over still water. Fishing boats wait beside an old stone quay, "
        "nets folded. Gulls circle above their masts, crying. Men haul crates along wet "
        "planks while bells ring. Nearby, smoke climbs from every chimney. Another day begins."
    ),
}
"""Texts that follow the rules of the requests, by their first rule."""

TASKS = {task.text: task for name in suites.NAMES for task in suites.load(name).tasks}


def answer_to(task: EvalTask) -> str:
    """Return a right answer to a task."""
    if task.scorer == "rules":
        return TEXTS[task.arguments["rules"][0]["rule"]]
    return f"\\boxed{{{task.expected}}}" if task.scorer == "math" else task.expected


def task_of(body: Body) -> EvalTask:
    """Return the task that a request is about."""
    user = next(each["content"] for each in body["messages"] if each["role"] == "user")
    return TASKS[max((text for text in TASKS if text in user), key=len)]


def respond(body: Body) -> Turn:
    """Answer with tools as asked; without them, answer wrong where a document would help."""
    task = task_of(body)
    if not body.get("tools"):
        known = "No." if task.inputs else answer_to(task)
        return Turn(text=f"I think about it.\n\nAnswer: {known}" if task.choices else known)
    if any(each["role"] == "tool" for each in body["messages"]):
        return Turn(calls=[("submit", {})])
    names = " ".join(shlex.quote(f"input/{name}") for name in task.inputs)
    command = f"cat {names} > read.txt && " if names else ""
    command += f"printf %s {shlex.quote(answer_to(task))} > output/answer.txt"
    return Turn(calls=[("execute_bash", {"command": command})])


def judge(body: Body) -> Turn:
    """Compare what stands between the markers, as a judge that is always sure."""
    text = body["messages"][0]["content"]
    (expected,) = re.findall(r"<(?:expected|official_answer)>\n(.*?)\n</", text, re.DOTALL)
    (given,) = re.findall(r"<answer>\n(.*?)\n</answer>", text, re.DOTALL)
    return Turn(text="I compared them.\n" + ("RIGHT" if given == expected else "WRONG"))


@pytest.mark.nightly
def test_all_samples_in_both_modes(studio: Studio) -> None:
    with Endpoint(respond) as model, Endpoint(judge) as referee:
        result = studio.evaluate(
            suites.NAMES,
            members=members(model.url),
            judge=Judge(model="j", base_url=referee.url, votes=2),
        )
        asked = len(referee.requests)
    wrong = [
        (result.description["tasks"][task]["suite"], member)
        for task, row in enumerate(result.description["cells"])
        for member, cell in enumerate(row)
        if cell["outcome"] != "right"
    ]
    documents = [task.id for task in TASKS.values() if task.inputs]
    assert wrong == [("aa_lcr", 0)] * len(documents)
    assert asked == 2 * 2 * sum(task.scorer == "judge" for task in TASKS.values())
    plain, sandbox = of_domain(result.description, "long context")
    assert (plain["score"], sandbox["score"], sandbox["gain"]) == (0.0, 1.0, 1.0)
    for name in suites.NAMES:
        domain = suites.describe(name).domain
        assert [row["unscored"] for row in of_domain(result.description, domain)] == [0, 0]
    assert result.description["judge"]["agreement"] == 1.0
