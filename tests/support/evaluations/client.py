"""Evaluations on a real server: a client for their routes and streams."""

import json
from typing import Any

from tests.support import httpx
from tests.support.groups import GroupClient
from tests.support.models.turns import SUBMIT, Turn, bash

MEMBERS: tuple[dict[str, Any], ...] = ({"mode": "plain"}, {"mode": "sandbox"})
DATA = "".join(
    json.dumps({"id": str(n), "problem": f"What is {n} + {n}?", "answer": str(2 * n)}) + "\n"
    for n in range(1, 5)
).encode()
"""Four tasks as the authors of AIME 2025 publish theirs."""


def respond(body: dict[str, Any]) -> Turn:
    """Guess 2 without tools; with tools, compute and submit."""
    if not body.get("tools"):
        return Turn(text="\\boxed{2}")
    if any(message["role"] == "tool" for message in body["messages"]):
        return SUBMIT
    number = next(n for n in range(1, 5) if f"What is {n} + {n}?" in json.dumps(body["messages"]))
    return bash(f"echo $(({number} + {number})) > output/answer.txt")


class EvaluationClient(GroupClient):
    routes = "/api/evaluations"

    def create(self, data: bytes = DATA, **fields: Any) -> str:
        body = {
            "suites": [{"name": "aime", "upload": "aime/test.jsonl"}],
            "members": list(MEMBERS),
            "inputs": self.draft_with({"aime/test.jsonl": data}),
            **fields,
        }
        return self.start(body)

    def post(self, evaluation: str, action: str, **body: Any) -> httpx.Response:
        """Ask for an action, such as ``stop`` or ``resume``."""
        return self.http.post(f"{self.routes}/{evaluation}/{action}", json=body)


def outcomes(described: dict[str, Any]) -> list[list[str]]:
    """Return the outcomes of an evaluation's cells, by task and member."""
    return [[cell["outcome"] for cell in row] for row in described["cells"]]


def run_ids(described: dict[str, Any]) -> set[str]:
    return {run["run"] for row in described["cells"] for cell in row for run in cell["runs"]}
