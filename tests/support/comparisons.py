"""Comparisons on a real server: their client, members and answers."""

import json
from typing import Any

from tests.support.groups import GroupClient
from tests.support.models.turns import SUBMIT as SUBMIT
from tests.support.models.turns import Turn
from tests.support.models.turns import bash as bash

PLAIN: dict[str, Any] = {"mode": "plain"}
SANDBOX: dict[str, Any] = {"mode": "sandbox"}


class ComparisonClient(GroupClient):
    routes = "/api/comparisons"

    def draft(self, **files: bytes) -> str:
        """Create a draft with files in ``input/``; their names are the keywords with ``.txt``."""
        return self.draft_with({f"{name}.txt": content for name, content in files.items()})

    def create(self, *members: dict[str, Any], task: str = "What is it?", **more: Any) -> str:
        return self.start({"task": task, "members": list(members), **more})

    def run_to_end(self, *members: dict[str, Any], **more: Any) -> dict[str, Any]:
        return self.wait(self.create(*members, **more))


def run_ids(described: dict[str, Any]) -> list[str]:
    return [each["run"] for member in described["members"] for each in member["runs"]]


def statuses(described: dict[str, Any]) -> list[list[str]]:
    return [[run["status"] for run in member["runs"]] for member in described["members"]]


def answer_by_mode(body: dict[str, Any]) -> Turn:
    """Answer as a model that counts with tools and guesses without them."""
    if "tools" not in body:
        return Turn(text="It is 41.")
    if any(message["role"] == "tool" for message in body["messages"]):
        return SUBMIT
    return bash("cat input/* 2>/dev/null | wc -c > output/answer.txt")


def text_of(body: dict[str, Any]) -> str:
    """Return everything that a request sends to the model."""
    return json.dumps(body["messages"])
