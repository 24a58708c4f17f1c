"""What the command ``models test`` prints."""

from pathlib import Path

import pytest

from agent.cli import models
from agent.cli.execute import model_argument
from agent.cli.main import create_parser
from agent.errors import UsageError
from agent.models.passport import probe
from agent.models.passport.passport import Fact, Passport
from agent.settings import Settings


def test_what_a_server_says_cannot_control_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    passport = Passport(
        base_url="https://models.test/v1", model="m", problem="It said \x1b[2J.",
        facts={"left_out": Fact("\x1b]0;x\x07 was refused", "its refusals")},
    )  # fmt: skip
    test = probe.EndpointTest([], passport, passport.problem)
    monkeypatch.setattr(probe, "check_endpoint", lambda _: test)
    words = ["models", "test", "m", "--base-url", passport.base_url]
    options = create_parser(with_page=False).parse_args(words)
    assert models.run_command(options, Settings(data=tmp_path)) == 1
    printed = capsys.readouterr()
    assert "was refused" in printed.out
    assert "\x1b" not in printed.out + printed.err


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--base-url", "http://x/v1"], "--base-url is for models of an endpoint, and --model"),
        (["--seed", "7"], "--seed is for models of an endpoint, and --model builtin is none"),
    ],
)
def test_the_built_in_model_has_no_endpoint_and_no_parameters(
    given: list[str], sentence: str
) -> None:
    words = ["run", "Go.", "--model", "builtin", *given]
    options = create_parser(with_page=False).parse_args(words)
    with pytest.raises(UsageError, match=sentence):
        model_argument(options, Settings())
