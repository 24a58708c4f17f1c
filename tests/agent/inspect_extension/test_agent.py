"""``llm_in_sandbox()`` in Inspect's evaluations, on a real engine."""

import json
import re
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from agent import prompts
from agent.loop.notes import REMINDER
from tests.agent.inspect_extension.conftest import ROOT, RunInspect
from tests.faults.app_process import free_port
from tests.support import httpx
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.turns import Body
from tests.support.server import wait_until

pytestmark = [
    pytest.mark.inspect,
    pytest.mark.engine,
    pytest.mark.nightly,
    pytest.mark.timeout(900),
]

BASH = "Execution output of [execute_bash]:\n[STDOUT]\n"
DOCUMENTATION = (ROOT / "docs" / "inspect.md").read_text()


def test_the_model_sees_what_it_sees_in_a_run(run_program: RunInspect) -> None:
    logs = [json.loads(line)[0] for line in run_program("agents").splitlines()]
    assert [log["status"] for log in logs] == ["success"] * 5, [log["error"] for log in logs]
    solved, steps, tokens, plain, sandboxed = logs

    messages = [text for _, text in solved["messages"]]
    assert messages[0] == prompts.get_bundled("general").system
    assert messages[1].endswith("Answer with the number only.\nSteps Remaining: 100")
    results = [text for role, text in solved["messages"] if role == "tool"]
    assert results[0] == f"Exit code: 0\n{BASH}\nSteps Remaining: 99"
    # The shell stays open from one call to the next.
    assert results[1] == f"Error: Exit code 1\n{BASH}/tmp\nSteps Remaining: 98"
    assert "     1\t9592\nNote: output/answer.txt is not absolute" in results[2]
    assert "To undo an edit, use str_replace" in results[3]
    assert f"{REMINDER}\nSteps Remaining: 95" in messages
    assert messages[-1] == "<<< Finished >>>"
    assert solved["scores"] == {"exact": ["C", "9592"]}
    assert solved["events"].count("tool") == 5

    # Where a limit ends the work, the answer that was written counts.
    assert "Input files in /workspace/input:\n- a.txt" in steps["messages"][1][1]
    assert "This is your last turn: The step limit was reached." in steps["messages"][3][1]
    assert (steps["limit"], steps["scores"]) == ("", {"exact": ["C", "7"]})
    assert tokens["messages"][0][1] == prompts.get_bundled("math").system
    assert (tokens["limit"], tokens["scores"]) == ("token", {"exact": ["C", "7"]})

    # A question of AgentBench, with the scorer of inspect_evals.
    assert [role for role, _ in plain["messages"]] == ["user", "assistant"]
    assert plain["scores"] == {"agent_bench_os_default_scorer": [False, "12"]}
    assert sandboxed["scores"] == {"agent_bench_os_default_scorer": [True, "2"]}


def answer(body: Body) -> Turn:
    """Guess without tools; with them, compute the answer, write it and submit."""
    assert body["model"] == "test-model"
    if not body.get("tools"):
        return Turn(text="10000")
    names = [tool["function"]["name"] for tool in body["tools"]]
    assert names == ["str_replace_editor", "execute_bash", "submit"]
    if body["messages"][-1]["role"] == "tool":
        return Turn(calls=[("submit", {})])
    program = "from sympy import sieve; print(len(list(sieve.primerange(100000))))"
    command = f"python3 -c '{program}' > output/answer.txt"
    return Turn(calls=[("execute_bash", {"command": command})])


def test_the_commands_of_the_documentation_compare_a_model_with_and_without_a_sandbox(
    run_inspect: RunInspect, tmp_path: Path
) -> None:
    (block,) = re.findall(r"```sh\n(export LOCAL_.*?)```", DOCUMENTATION, re.DOTALL)
    commands = [line for line in block.replace("\\\n", " ").splitlines() if "inspect eval" in line]
    assert len(commands) == 2
    with Endpoint(answer) as endpoint:
        for command in commands:
            run_inspect(
                "inspect",
                *command.replace("Qwen3-Coder-30B", "test-model").split()[1:],
                *("--limit", "1", "--display", "none", "--log-dir", "logs", "--log-format", "json"),
                LOCAL_BASE_URL=endpoint.url,
                LOCAL_API_KEY="key",
            )
        assert endpoint.history_errors == []
    logs = [json.loads(path.read_text()) for path in sorted((tmp_path / "logs").glob("*.json"))]
    scores = [log["samples"][0]["scores"]["exact"]["value"] for log in logs]
    assert scores == ["I", "C"]
    assert logs[1]["eval"]["solver"] == "llm_in_sandbox_studio/llm_in_sandbox"
    assert logs[1]["eval"]["sandbox"]["type"] == "studio"


def test_the_program_of_the_documentation_runs_without_a_model_and_inspect_view_has_its_log(
    run_inspect: RunInspect,
    inspect_commands: Path,
    inspect_variables: dict[str, str],
    tmp_path: Path,
) -> None:
    program, _ = re.findall(r"```python\n(.*?)```", DOCUMENTATION, re.DOTALL)
    (tmp_path / "scripted.py").write_text(program)
    output = run_inspect("python", "scripted.py", INSPECT_DISPLAY="none")
    assert output.splitlines()[-1] == "success 9592 C"

    port = free_port()
    command: list[str | Path] = [inspect_commands / "inspect", "view", "start", "--log-dir", "logs"]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        server = subprocess.Popen(
            [*command, "--port", str(port)], cwd=tmp_path, env=inspect_variables
        )
        try:
            wait_until(lambda: answers(client), seconds=300)
            assert "<title>Inspect View</title>" in client.get("/").text
            (listed,) = client.get("/api/logs").json()["files"]
            log = client.get(f"/api/logs/{quote(listed['name'], safe='')}").json()
        finally:
            server.terminate()
            server.wait()
    assert log["eval"]["solver"] == "llm_in_sandbox_studio/llm_in_sandbox"
    messages = log["samples"][0]["messages"]
    calls = [call["function"] for each in messages for call in each.get("tool_calls") or []]
    assert calls == ["execute_bash", "submit"]


def answers(client: httpx.Client) -> bool:
    """Whether the server accepts connections."""
    try:
        return client.get("/api/logs").is_success
    except httpx.TransportError:
        return False


def test_questions_with_choices_are_asked_and_scored_as_by_multiple_choice(
    run_program: RunInspect,
) -> None:
    found = [json.loads(line) for line in run_program("choices").splitlines()]
    questions = {each["name"]: each["question"] for each in found}
    assert {each["name"]: each["scores"] for each in found} == {
        "alone": [["C", "A"]],
        # Several letters are no answer to a question with one, as for the model alone.
        "agent": [["C", "A"], ["I", "B"], ["I", ""], ["C", "A"]],
        "several": [["C", "A, C"], ["I", "A, C"]],
        "own": [["C", "C"]],
        "limit": [["C", "C"]],
        "limited agent": [["C", "C"]],
    }
    choices = "Squares?\n\nA) 9\nB) 8\nC) 4"
    assert questions["alone"] == f"{choices}\n\nPick from A,B,C."
    assert questions["own"] == f"{questions['alone']}\nSteps Remaining: 9"
    assert questions["agent"].startswith("Answer the following multiple choice question. The ent")
    assert questions["agent"].endswith(f"one of A,B,C.\n\n{choices}\nSteps Remaining: 100")
    assert "multiple answers may be correct. The last line" in questions["several"]
