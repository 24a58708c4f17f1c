"""The ``openai`` package without most of its types: which modules load, and when."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.contract

ROOT = Path(__file__).parents[4]


def output_of(program: str) -> list[str]:
    """Return the lines that a program prints in a process of its own."""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return result.stdout.splitlines()


COUNT_TYPES = "print(sum(name.startswith('openai.types.') for name in sys.modules))"


def test_the_client_loads_few_of_the_types() -> None:
    plain = output_of(f"import sys, openai; {COUNT_TYPES}")
    client = output_of(f"import sys, agent.models.endpoint.client; {COUNT_TYPES}")
    assert int(client[0]) < int(plain[0]) / 3


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("from openai.types.responses import Response as used", "used.model_fields != {}"),
        ("import openai; used = openai.types.chat.ChatCompletion", "used.model_fields != {}"),
        ("from openai.types.beta.threads import Message as used", "used.model_fields != {}"),
        ("import openai.types.shared", "openai.types.ErrorObject.model_fields != {}"),
        ("import openai", "not hasattr(openai.types, 'Nothing')"),
    ],
)
def test_a_type_is_loaded_when_it_is_used(use: str, said: str) -> None:
    assert output_of(f"import agent.models.endpoint.client\n{use}\nprint({said})") == ["True"]


def test_threads_that_use_the_types_at_once_see_them_complete() -> None:
    program = """
import agent.models.endpoint.client, openai, threading
found, start = [], threading.Barrier(8)
def use():
    start.wait()
    found.append(openai.types.ChatModel)
threads = [threading.Thread(target=use) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
print(len(found))
"""
    assert output_of(program) == ["8"]


def test_the_packages_own_resources_work_as_usual() -> None:
    program = """
import agent.models.endpoint.client, openai
client = openai.OpenAI(api_key="x", base_url="http://127.0.0.1:1/v1", max_retries=0)
for ask in (
    lambda: client.chat.completions.create(model="m", messages=[]),
    lambda: client.responses.create(model="m", input="Hello"),
):
    try:
        ask()
    except openai.APIConnectionError as error:
        print(type(error).__name__)
"""
    assert output_of(program) == ["APIConnectionError"] * 2
