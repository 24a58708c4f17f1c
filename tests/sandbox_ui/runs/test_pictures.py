"""What a model sees of attached files: all pictures, or what the user has chosen."""

from pathlib import Path
from typing import Any

import pytest

from agent import prompts
from agent.errors import StudioError
from agent.events import Event, Notice, RunContinued, RunStarted
from agent.limits import Limits
from agent.models.base import PictureLimits, UserMessage
from agent.run_fields import Pdfs
from agent.runs.recorded_run import Task
from agent.runs.user_changes import UserChange
from agent.workspace.paths import RelPath
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import RunRequest
from tests.agent.documents.test_text import create_pdf
from tests.agent.runs.outputs.sample_pictures import encode_picture
from tests.sandbox_ui.managed_runs import events, open_manager, wait_for_end
from tests.support.models.scripted import ScriptedModel, ScriptedTurn

pytestmark = pytest.mark.contract


class SeeingModel(ScriptedModel):
    """A scripted model that takes pictures."""

    picture_limits = PictureLimits()


def put(runs: RunManager, run: str, **files: bytes) -> None:
    """Put files into ``input/``, as an upload does; ``_`` stands for the dot."""
    with runs.locked_workspace(run) as workspace:
        for name, content in files.items():
            path = RelPath(f"input/{name.replace('_', '.')}")
            workspace.write(path, [content])
            runs.record_user_changes(run, [UserChange("added", path, len(content))])


def start(
    runs: RunManager,
    run: str,
    pictures: tuple[str, ...] | None,
    pdfs: Pdfs = "auto",
    limits: PictureLimits | None = None,
) -> None:
    task = Task("Look.", prompts.get_bundled("general"), "plain", pictures=pictures, pdfs=pdfs)
    model = SeeingModel([ScriptedTurn("Seen.")])
    model.picture_limits = limits or PictureLimits()
    runs.start(run, task, model, Limits())
    wait_for_end(runs, run)


def shown(event: Event) -> list[str]:
    assert isinstance(event, RunStarted | RunContinued)
    return [each.source for each in event.pictures]


@pytest.mark.parametrize(
    ("chosen", "sources"),
    [
        (None, ["input/a.png", "input/b.png"]),
        (("input/b.png",), ["input/b.png"]),
        ((), []),
        (("input/c.pdf", "input/n.txt"), ["input/c.pdf, page 1", "input/c.pdf, page 2"]),
    ],
    ids=["usual", "one", "files only", "pages"],
)
def test_the_task_comes_with_all_pictures_or_those_chosen(
    tmp_path: Path, chosen: tuple[str, ...] | None, sources: list[str]
) -> None:
    with open_manager(tmp_path) as runs:
        run = runs.create_draft()
        put(
            runs, run, a_png=encode_picture("red"), b_png=encode_picture("blue"), n_txt=b"words",
            c_pdf=create_pdf(["First", "Second"]),
        )  # fmt: skip
        start(runs, run, chosen)
        assert shown(events(runs, run)[0]) == sources


OF_SIX = "a message has at most 6 pictures of about {tokens} tokens in all."
LONG = [f"Words of page {at}" for at in range(1, 9)]
FIRST_FOUR = (
    "The model sees the first 4 of the 8 pages of input/a.pdf; the others are not sent: "
    + OF_SIX.format(tokens="32,000")
)
LEFT_OUT = "Of pages that are not sent, the model gets nothing; with “both” it gets their text."


@pytest.mark.parametrize(
    ("tokens", "pages", "notices"),
    [
        (32_000, {"a": 4, "b": 2}, [FIRST_FOUR, LEFT_OUT]),
        (320, {"b": 2}, ["The model does not see input/a.pdf: " + OF_SIX.format(tokens="320")]),
    ],
    ids=["number", "tokens"],
)
def test_pages_are_bounded_and_what_is_left_out_is_said(
    tmp_path: Path, tokens: int, pages: dict[str, int], notices: list[str]
) -> None:
    limits = PictureLimits("claude", side=400, count=6, tokens=tokens)
    with open_manager(tmp_path) as runs:
        run = runs.create_draft()
        put(runs, run, a_pdf=create_pdf(LONG), b_pdf=create_pdf(["Third", "Fourth"]))
        start(runs, run, None, "pages", limits)
        started, *later = events(runs, run)
    assert isinstance(started, RunStarted)
    assert shown(started) == [
        f"input/{name}.pdf, page {at}"
        for name, count in pages.items()
        for at in range(1, count + 1)
    ]
    assert sum(each.tokens for each in started.pictures) <= tokens
    seen = "[You see the first 4 of its 8 pages as pictures, and not the others,"
    assert (seen in started.user) == ("a" in pages)
    assert ("Words of page" in started.user) == ("a" not in pages), "its text takes their place"
    assert "Third" not in started.user
    assert [each.text for each in later if isinstance(each, Notice)] == notices


def test_a_follow_up_comes_with_what_was_added_or_chosen(tmp_path: Path) -> None:
    with open_manager(tmp_path) as runs:
        run = runs.create_draft()
        put(runs, run, a_png=encode_picture("red"))
        start(runs, run, None)
        put(runs, run, b_png=encode_picture("blue"))
        for number, chosen in enumerate((None, ["input/a.png"]), start=2):
            model = SeeingModel([ScriptedTurn("Seen.")])
            runs.follow_up(run, "And now?", model, Limits(), pictures=chosen)
            wait_for_end(runs, run, number)
        later = [each for each in events(runs, run) if isinstance(each, RunContinued)]
        assert list(map(shown, later)) == [["input/b.png"], ["input/a.png"]]


def test_a_follow_up_in_plain_mode_comes_with_the_documents_that_were_added(
    tmp_path: Path,
) -> None:
    with open_manager(tmp_path) as runs:
        run = runs.create_draft()
        start(runs, run, None)
        put(
            runs,
            run,
            c_pdf=create_pdf(["First", "Second"]),
            n_txt=b"words",
            a_png=encode_picture("red"),
        )
        models = [SeeingModel([ScriptedTurn("Seen.")]) for _ in range(2)]
        for number, model in enumerate(models, start=2):
            runs.follow_up(run, "And now?", model, Limits(), pdfs="both")
            wait_for_end(runs, run, number)
        first, second = (each for each in events(runs, run) if isinstance(each, RunContinued))
    assert shown(first) == ["input/a.png", "input/c.pdf, page 1", "input/c.pdf, page 2"]
    assert first.text == second.text == "And now?"
    assert first.user.endswith("\n\nAnd now?")
    for words in ("BEGIN DOCUMENT 1: c.pdf\n[You see its 2 pages", "First", ": n.txt\nwords\n",
                  ": a.png\n[You see it as a picture"):  # fmt: skip
        assert words in first.user
    assert (second.user, second.pictures) == ("", ())
    *_, last = models[1].requests[-1].messages
    assert isinstance(last, UserMessage)
    assert last.text == "And now?"
    sent = [each.text for each in models[1].requests[-1].messages if isinstance(each, UserMessage)]
    assert sent[1:] == [first.user, "And now?"]


@pytest.mark.parametrize(
    "given", ["input/a.png", [5], ["input/a.png"] * 17, ["../secret.png"]], ids=repr
)
def test_pictures_that_are_no_list_of_paths_are_refused(given: Any) -> None:
    with pytest.raises(StudioError, match=r"pictures|secret"):
        RunRequest.of({"task": "Look.", "pictures": given})


def test_a_request_names_pictures_by_encoded_paths() -> None:
    wanted = RunRequest.of({"task": "Look.", "pictures": ["input/a%20b.png"]})
    assert wanted.pictures == ("input/a b.png",)
    assert RunRequest.of({"task": "Look."}).pictures is None
