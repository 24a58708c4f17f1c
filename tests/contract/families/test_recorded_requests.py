"""A request of every family is built again from the journal, byte for byte."""

import pytest

from agent import Studio
from agent.runs.folder import RunFolder
from agent.runs.requests.body import EXACT, rebuild_request
from agent.runs.requests.records import read_log
from tests.contract.families.scripts import by_last_user, in_order
from tests.support.servers.families import FAMILIES

pytestmark = pytest.mark.contract


NAMES = (
    "gemini-3", "deepseek-v4", "minimax-m2", "openrouter-anthropic", "openai-gpt-5.6",
    "anthropic-4.7", "anthropic-4.5", "mistral", "strict-roles",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_what_was_sent_is_built_again(studio: Studio, name: str) -> None:
    family = FAMILIES[name]
    script = by_last_user(FIRST=in_order("echo one", "echo two"), SECOND=in_order("echo three"))
    with family.serve(script) as server:
        run = studio.run("FIRST", model=family.config(server))
        run.wait()
        run.send("SECOND").wait()
    assert run.result.status == "submitted"
    folder = RunFolder.open(studio.path, run.id)
    attempts: dict[int, int] = {}
    for recorded in read_log(folder.requests):
        attempts[recorded.step] = attempts.get(recorded.step, 0) + 1
        rebuilt = rebuild_request(folder, recorded.step, attempts[recorded.step])
        assert rebuilt.fidelity == EXACT, (recorded.step, rebuilt.note)
    assert len(attempts) == 5
