"""What is asked of a run: what its model cannot take, and the sentence that refuses a value."""

from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any, cast

import fastapi
import gradio as gr
import pytest

from agent import prompts
from agent.api.studio import Studio
from agent.cli.main import create_parser
from agent.errors import StudioError, UsageError
from agent.experiments.members import parse_member
from agent.models import resolve
from agent.models.builtin.model import BuiltinModel
from agent.models.parameters import camel_case
from agent.runs.spec import RunSpec
from agent.settings import Settings
from sandbox_ui.auth.access import Access
from sandbox_ui.auth.user import OPERATOR
from sandbox_ui.experiments.definition import members_of
from sandbox_ui.openai_api.errors import to_api_error
from sandbox_ui.openai_api.parameters import parse_parameters
from sandbox_ui.page.handlers import ButtonHandlers
from sandbox_ui.runs.service import RunRequest, model_for


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    model = BuiltinModel(cast(Any, None))
    monkeypatch.setattr(resolve, "create_builtin_model", lambda: model)
    return Settings(data=tmp_path, builtin=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [("effort", "high"), ("seed", 7), ("temperature", 0.0), ("extra_body", '{"top_k": 20}'),
     ("calls", "text"), ("send_reasoning", False)],
)  # fmt: skip
def test_the_built_in_model_takes_no_parameters_of_an_endpoint(
    settings: Settings, name: str, value: object
) -> None:
    request = RunRequest.of({"task": "Count.", name: value})
    with pytest.raises(UsageError, match=rf"{name} is for models of an endpoint.*Settings"):
        model_for(request, settings, OPERATOR)


def test_what_holds_for_every_model_is_not_refused(settings: Settings) -> None:
    given = {"task": "Count.", "base_url": "", "api": "auto", "max_tokens": 100, "extra_body": "{}"}
    request = RunRequest.of(given)
    assert isinstance(model_for(request, settings, OPERATOR), BuiltinModel)


LABELS = {"max_steps": "Maximum steps", "temperature": "Temperature"}


def by_the_page(given: dict[str, Any], settings: Settings) -> str:
    access = Access(OPERATOR, (), cast(Any, None), cast(Any, None))
    scope = {"type": "http", "headers": [], "state": {"access": access}}
    handlers = ButtonHandlers(cast(Any, None), settings)
    handlers.labels = LABELS
    _, notice, _ = handlers.send("Count.", None, None, given, gr.Request(fastapi.Request(scope)))
    assert notice
    return str(notice["text"])


def by_python(given: dict[str, Any], settings: Settings) -> str:
    return refused(lambda: Studio(settings).run("Count.", **given))


def by_a_member(given: dict[str, Any], settings: Settings) -> str:
    return refused(lambda: members_of([given], settings)).removeprefix("members[0]: ")


def by_the_text_of_a_member(given: dict[str, Any], settings: Settings) -> str:
    texts = [f"{name.replace('_', '-')}={value}" for name, value in given.items()]
    return refused(lambda: parse_member(",".join(texts))).partition("”: ")[2]


def by_v1(given: dict[str, Any], settings: Settings) -> str:
    body = {"model": "m@sandbox", "sandbox": given}
    with pytest.raises(StudioError) as error:
        parse_parameters(body, chat=True)
    return str(to_api_error(error.value))


def by_the_command_line(given: dict[str, Any], settings: Settings) -> str:
    words = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
    errors = StringIO()
    with redirect_stderr(errors), pytest.raises(SystemExit):
        create_parser(with_page=False).parse_args(["run", "Count.", *words])
    return errors.getvalue().partition(": error: argument ")[2].strip()


def by_http(given: dict[str, Any], settings: Settings) -> str:
    asked = {camel_case(name): value for name, value in given.items()}
    return refused(lambda: RunRequest.of(asked))


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(StudioError) as error:
        call()
    return str(error.value)


EVERYWHERE = (
    by_the_page,
    by_http,
    by_python,
    by_a_member,
    by_the_text_of_a_member,
    by_v1,
    by_the_command_line,
)


def name_at(edge: object, name: str) -> str:
    """Return a field's name as its sender knows it."""
    option = name.replace("_", "-")
    if edge is by_the_page:
        return LABELS.get(name, name)
    names: dict[object, str] = {
        by_http: camel_case(name),
        by_the_text_of_a_member: option,
        by_v1: f"sandbox.{name}",
        by_the_command_line: f"--{option}:",
    }
    return names.get(edge, name)


HOSTS = "up to 200 host names such as pypi.org"
REFUSED = [
    ("max_steps", "few", "a whole number from 1 to 10,000,000", EVERYWHERE),
    ("network", "no/host", f"open, none, packages or {HOSTS}", EVERYWHERE),
    ("mode", "fast", "sandbox or plain", [each for each in EVERYWHERE if each is not by_v1]),
    ("pdfs", "words", "auto, text, pages or both",
     [each for each in EVERYWHERE if each is not by_v1]),
    ("approve", "sudo", "every, risky, or some of network, delete, install and long",
     (by_the_page, by_python, by_a_member, by_the_command_line)),
    ("temperature", "hot", "a number from 0 to 2",
     (by_the_page, by_a_member, by_the_text_of_a_member, by_the_command_line)),
    ("prompt", "none", f"one of {', '.join(prompts.list_names())}",
     (by_the_page, by_a_member, by_the_text_of_a_member, by_v1)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "expected", "edges"), REFUSED, ids=lambda row: str(row)[:9]
)
def test_a_value_is_refused_with_the_same_sentence_everywhere(
    settings: Settings, name: str, value: str, expected: str, edges: Sequence[Any]
) -> None:
    assert {edge.__name__: edge({name: value}, settings) for edge in edges} == {
        edge.__name__: f"{name_at(edge, name)} must be {expected}, not {value!r}." for edge in edges
    }


def test_more_than_the_operator_lets_is_refused_with_the_same_sentence(settings: Settings) -> None:
    given, sentence = {"max_steps": 1001}, "max_steps may be at most 1,000 here, not 1,001."
    assert by_the_page(given, settings) == sentence.replace("max_steps", LABELS["max_steps"])
    assert by_python(given | {"model": "builtin"}, settings) == sentence
    spec = RunSpec.of(given)
    assert refused(lambda: spec.limits_of_any(settings)) == sentence


def test_a_name_that_is_unknown_is_refused(settings: Settings) -> None:
    for edge in (by_the_page, by_a_member):
        assert edge({"colour": "red"}, settings).startswith("“colour” is none of task, inputs, ")


def test_a_spec_is_read_from_its_own_json() -> None:
    given = {
        "task": "Count.",
        "maxSteps": 3,
        "network": "packages",
        "approve": "risky",
        "topP": 0.5,
    }
    spec = RunSpec.of(given)
    assert RunSpec.of(spec.to_json()) == spec
    assert RunSpec().to_json() == {}
