"""Commands of demonstrated solutions: file names are quoted."""

import json
import shlex

from agent.tasks.document_qa.rng import Rng
from agent.tasks.task import TaskRecord
from agent.train.learning.solution_paths import sandbox_solution

HOSTILE = "$(touch pwned)/berlin.txt"


def test_a_file_name_is_not_executed() -> None:
    files = {HOSTILE: "Anna lives here.", "oslo.txt": "Bert lives here."}
    problem = TaskRecord("1", "Who lives in Berlin?", "Anna", "exact", "homes", files)
    commands_seen = set()
    for number in range(200):
        turns = sandbox_solution(problem, 0.3, ["Bert", "Carla"], Rng("way", number))
        calls = [json.loads(call.arguments) for turn in turns for call in turn.calls]
        commands = [call["command"] for call in calls if "command" in call]
        commands_seen |= {
            tuple(shlex.split(command)) for command in commands if "echo" not in command
        }
    assert ("cat", f"input/{HOSTILE}") in commands_seen
    assert all(len(command) == 2 for command in commands_seen)
