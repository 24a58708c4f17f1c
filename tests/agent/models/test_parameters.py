"""The request parameters: what every interface accepts, and the sentence that refuses the rest."""

import argparse
from dataclasses import replace
from typing import Any

import pytest

from agent.errors import UsageError
from agent.experiments.experiment import Member, check_member
from agent.experiments.members import parse_member, with_parameters
from agent.models.base import ModelConfig
from agent.models.parameters import BY_NAME, PARAMETERS, add_options, check_config, config_fields

CONFIG = ModelConfig("http://localhost/v1", "m")
VALID: dict[str, Any] = {
    "api": "responses", "effort": "high", "thinking": False, "verbosity": "low", "seed": 7,
    "temperature": 0.5, "top_p": 0.9, "max_tokens": 100, "extra_body": {"top_k": 20},
    "calls": "text", "send_reasoning": False, "images": "on",
}  # fmt: skip
TEXTS = VALID | {"thinking": "off", "extra_body": '{"top_k": 20}', "send_reasoning": "off"}
INVALID: dict[str, Any] = {
    "api": "soap", "effort": "very", "thinking": "maybe", "verbosity": 1, "seed": -1,
    "temperature": 2.5, "top_p": float("nan"), "max_tokens": 1.5, "extra_body": [1],
    "calls": "xml", "send_reasoning": 1, "images": "maybe",
}  # fmt: skip


def expected_fields() -> dict[str, Any]:
    return {BY_NAME[name].field: value for name, value in VALID.items()}


def test_every_parameter_is_a_field_of_the_configuration_and_of_a_member() -> None:
    assert VALID.keys() == BY_NAME.keys() == INVALID.keys()
    member = Member(label="a", mode="plain", model="m")
    for each in PARAMETERS:
        if each.name not in ("api", "images"):  # a member without one has the settings'
            of_config, of_member = getattr(CONFIG, each.field), getattr(member, each.name)
            assert each.check(of_config) == each.check(of_member)


def test_the_command_line_and_members_read_the_same_values() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    words = [f"--{BY_NAME[name].option}={value}" for name, value in TEXTS.items()]
    assert config_fields(parser.parse_args(words)) == expected_fields()
    texts = [f"{BY_NAME[name].option}={value}" for name, value in TEXTS.items()]
    assert config_fields(parse_member("sandbox," + ",".join(texts))[0]) == expected_fields()
    assert config_fields(parser.parse_args([])) == {}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_value_is_refused_with_the_same_sentence_everywhere(name: str) -> None:
    value, parameter = INVALID[name], BY_NAME[name]
    sentence = f"{name} must be {parameter.expected}, not {value!r}."
    with pytest.raises(UsageError) as refused:
        check_config(replace(CONFIG, **{parameter.field: value}))
    assert str(refused.value) == sentence
    member = replace(Member(label="a", mode="plain", model="m"), **{name: value})
    with pytest.raises(UsageError) as refused:
        check_member(member)
    assert str(refused.value) == f"a: {sentence}"


def test_a_text_that_is_no_number_is_refused_on_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(["--temperature", "hot"])
    assert "--temperature: must be a number from 0 to 2, not 'hot'." in capsys.readouterr().err


def test_json_may_have_commas_within_a_member() -> None:
    member, _ = parse_member('plain,extra-body={"a": [1, 2], "b": 3},seed=1')
    assert (member.extra_body, member.seed) == ({"a": [1, 2], "b": 3}, 1)


def test_hostile_fields_are_refused() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for value in (deep, "[" * 100_000, {"a": float("inf")}, {1: 2}):
        with pytest.raises(UsageError, match="extra_body must be"):
            BY_NAME["extra_body"].check(value)


def test_members_record_the_parameters_of_the_endpoints_given_for_them() -> None:
    given = replace(CONFIG, temperature=0.3, extra_body={"top_k": 5}, seed=3)
    members = [
        Member(label="a", mode="plain", model="m"),
        Member(label="b", mode="plain", model="m", temperature=0.0),
        Member(label="c", mode="plain", model="m"),
    ]
    first, second, third = with_parameters(members, {"a": given, "b": given, "c": "name"})
    assert (first.temperature, first.extra_body, first.seed) == (0.3, {"top_k": 5}, 3)
    assert (second.temperature, second.seed) == (0.0, 3)
    assert third == members[2]
