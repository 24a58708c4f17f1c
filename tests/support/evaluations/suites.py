"""Small suites, and a model that solves their tasks with tools and guesses without."""

import json
import re
from collections.abc import Mapping
from typing import Any

from agent.experiments.suite import EvalTask, Suite
from agent.grading.checks import Check
from tests.support.models.turns import Body, Turn

PATTERN = re.compile(r"What is (\d+) \+ (\d+)\?")


def sums(count: int, name: str = "sums", scorer: Check = "math", **changes: Any) -> Suite:
    """Return a suite of additions: task ``n`` asks for n + n."""
    tasks = tuple(
        EvalTask(id=str(n), text=f"What is {n} + {n}?", scorer=scorer, expected=str(2 * n))
        for n in range(1, count + 1)
    )
    values: dict[str, Any] = {
        "name": name, "title": name.capitalize(), "domain": "mathematics", "tasks": tasks,
        "prompt": "math", "scorer": scorer, "licence": "MIT", "source": "", **changes,
    }  # fmt: skip
    return Suite(**values)


def task_of(body: Body) -> int:
    found = PATTERN.search(json.dumps(body["messages"]))
    assert found is not None
    return int(found[1])


def respond(body: Body) -> Turn:
    """Answer every second task right without tools; with tools, compute and submit."""
    number = task_of(body)
    if not body.get("tools"):
        guess = 2 * number if number % 2 else 0
        return Turn(text=f"\\boxed{{{guess}}}", usage=(100, 20))
    if any(each["role"] == "tool" for each in body["messages"]):
        return Turn(calls=[("submit", {})], usage=(160, 10))
    command = f"echo $(({number} + {number})) > output/answer.txt"
    return Turn(calls=[("execute_bash", {"command": command})], usage=(120, 20))


def members(url: str, *modes: str) -> list[str]:
    """Return the texts of members that an endpoint answers for."""
    return [f"{mode},model=m,base-url={url}" for mode in modes or ("plain", "sandbox")]


def of_domain(description: Mapping[str, Any], domain: str = "all") -> list[dict[str, Any]]:
    """Return the results of a domain, by member."""
    (found,) = (each for each in description["results"] if each["domain"] == domain)
    rows: list[dict[str, Any]] = found["members"]
    return rows
