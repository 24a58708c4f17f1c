"""Words of the command line of earlier versions: they work, and the help does not show them."""

from pathlib import Path

import pytest

from agent.cli.main import create_parser, main


def test_an_earlier_command_does_what_todays_does(tmp_path: Path) -> None:
    written = []
    for command in ("chores", "file-tasks"):
        file = tmp_path / f"{command}.jsonl"
        assert main([command, "--count", "2", "--demonstrations", str(file)]) == 0
        written.append(file.read_bytes())
    assert written[0] == written[1]
    assert written[0]


@pytest.mark.parametrize(
    "option", [["--picture", "no/c.png"], ["--chart=no/c.png"], ["--picture=no/c.png"]]
)
def test_an_earlier_option_does_what_todays_does(
    option: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.train.cli.check_installed", lambda: None)
    assert main(["compare", *option, "a=b"]) == 1
    assert "no/c.png" in capsys.readouterr().err


def test_the_help_shows_todays_words_only() -> None:
    shown = create_parser(with_page=True).format_help()
    assert "file-tasks" in shown
    assert "chores" not in shown
