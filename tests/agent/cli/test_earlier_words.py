"""Command and option names of earlier versions: they work, but the help omits them."""

from pathlib import Path

import pytest

from agent.cli.main import _rename_earlier_words, create_parser, main


@pytest.mark.parametrize(
    ("earlier", "current", "option"),
    [("chores", "file-tasks", "--demonstrations"), ("tasks", "document-tasks", "--output")],
)
def test_an_earlier_command_name_still_works(
    tmp_path: Path, earlier: str, current: str, option: str
) -> None:
    contents = []
    for command in (earlier, current):
        file = tmp_path / f"{command}.jsonl"
        assert main([command, "--count", "2", option, str(file)]) == 0
        contents.append(file.read_bytes())
    assert contents[0] == contents[1]
    assert contents[0]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "option", [["--picture", "no/c.png"], ["--chart=no/c.png"], ["--picture=no/c.png"]]
)
def test_an_earlier_option_name_still_works(
    option: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("agent.train.cli.check_installed", lambda: None)
    for command in (["train", "report"], ["compare"]):
        assert main([*command, *option, "a=b"]) == 1
        assert "no/c.png" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "trainings"),
    [
        (["compare", "shown=a", "then rewarded=b,c", "--chart", "reward.png"], True),
        (["compare", "shown=a,b"], True),
        (["compare", "What is x if 2x = 4?"], False),
        (["compare", "x=1", "--member", "plain"], False),
        (["compare", "How many?"], False),
    ],
)
def test_the_earlier_command_is_told_from_a_comparison_of_runs(
    words: list[str], trainings: bool
) -> None:
    parsed = create_parser(with_page=False).parse_args(_rename_earlier_words(words))
    assert parsed.command == ("train report" if trainings else "compare")


def test_the_earlier_option_for_concurrency_still_works() -> None:
    words = _rename_earlier_words(["eval", "aime", "--at-once", "3"])
    assert create_parser(with_page=False).parse_args(words).concurrency == 3


def test_the_help_shows_only_current_names() -> None:
    help_text = create_parser(with_page=True).format_help()
    assert "file-tasks" in help_text
    assert "chores" not in help_text
