"""Pictures against the strict server of every family: form, order and bytes are checked."""

import base64
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from agent import Run, Studio
from agent.api.models import select_model
from agent.events import (
    Event,
    Notice,
    PicturesDropped,
    RunStarted,
    StepVerified,
    ToolEnded,
)
from agent.models.base import Picture
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.outputs.pictures import PictureStore, pictures_of
from agent.runs.recorded_run import RecordedRun
from agent.runs.requests.body import EXACT, rebuild_request
from tests.contract.families.scripts import by_last_user, submit
from tests.contract.families.test_scenarios import API, NAMES, check_rebuilt, serve, submitted
from tests.sandbox_ui.preview.documents.pdf_files import PdfPage, make_pdf
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.turns import Turn
from tests.support.servers.chat.api import ChatApi
from tests.support.servers.families import FAMILIES, Family
from tests.support.servers.pictures import find_pictures
from tests.support.servers.responses import ResponsesApi
from tests.support.servers.server import Script, Seen, StrictServer

pytestmark = pytest.mark.contract

EDITOR = "str_replace_editor"
COLOURS = ("red", "green", "blue", "black")


@pytest.fixture(params=NAMES)
def family(request: pytest.FixtureRequest) -> Family:
    return FAMILIES[str(request.param)]


def png(colour: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (320, 240), colour).save(out, "PNG")
    return out.getvalue()


def draw(path: str, colour: str) -> tuple[str, dict[str, str]]:
    data = base64.b64encode(png(colour)).decode()
    return "execute_bash", {"command": f"echo {data} | base64 -d > {path}"}


def view(path: str) -> tuple[str, dict[str, str]]:
    return EDITOR, {"command": "view", "path": path}


def in_turns(*turns: Sequence[tuple[str, dict[str, str]]]) -> Script:
    """Make the calls of one turn after the other, then submit."""

    def script(seen: Seen) -> Turn:
        made, number = len(seen.commands), 0
        for number, calls in enumerate(turns):
            if made <= 0:
                return Turn("", f"Turn {number}.", calls)
            made -= len(calls)
        return submit(reasoning=f"All {number + 1} turns are done.")

    return script


def recorded(run: Run, studio: Studio) -> list[Event]:
    folder = RunFolder.open(studio.path, run.id)
    return [event for _, event in journal.read(folder.journal)]


def pictures(run: Run, studio: Studio) -> list[Picture]:
    return [picture for event in recorded(run, studio) for picture in pictures_of(event)]


def shown(run: Run, studio: Studio) -> list[bytes]:
    """Return the bytes of the pictures that a run's events name."""
    store = PictureStore(RunFolder.open(studio.path, run.id).outputs)
    return [store.read(picture) for picture in pictures(run, studio)]


def refusal(server: StrictServer) -> str:
    return next((each.pictures_refused for each in server.apis if isinstance(each, ChatApi)), "")


def test_a_chart_is_drawn_looked_at_corrected_and_looked_at_again(
    studio: Studio, family: Family
) -> None:
    """The model gets exactly the stored bytes, after all results of a turn; blind ones a text."""
    script = in_turns(
        [draw("chart.png", "red")],
        [view("chart.png"), ("execute_bash", {"command": "echo between"})],
        [draw("chart.png", "green"), view("chart.png")],
        [("execute_bash", {"command": "echo more"})],
        [("execute_bash", {"command": "echo and more"})],
    )
    with serve(family, script) as server:
        run = studio.run("Draw.", model=family.config(server, images="on"))
        submitted(run)
    stored = shown(run, studio)
    colours = [Image.open(io.BytesIO(each)).convert("RGB").getpixel((9, 9)) for each in stored]
    assert colours[0] == (255, 0, 0)
    last = server.seen[-1].body
    check_rebuilt(RunFolder.open(studio.path, run.id), steps=6)
    if refused := refusal(server):
        assert sum(refused[-20:] in each for each in server.refusals) == 1
        assert any(
            isinstance(each, Notice) and "no pictures" in each.text
            for each in recorded(run, studio)
        )
        assert find_pictures(last) == []
        assert "chart.png (320 × 240 pixels): this model takes no pictures" in str(last)
        return
    assert colours[1:] == [(0, 128, 0)]
    assert find_pictures(last) == stored
    used = [each.used for each in recorded(run, studio) if isinstance(each, ToolEnded)]
    assert [each.looks for each in used if each] == [0, 1, 0, 0, 1, 0, 0, 0]
    assert [find_pictures(each.body) for each in server.seen[:4]] == [[], [], stored[:1], stored]
    folded = rebuild_request(RunFolder.open(studio.path, run.id), 6)
    assert (folded.fidelity, len(str(folded.body)) < len(str(last))) == (EXACT, True)
    assert f"[{pictures(run, studio)[0].file}: " in str(folded.body)


@pytest.mark.parametrize("name", ["openai-compatible", "openai-responses", "anthropic-4.7"])
def test_pictures_of_the_task(studio: Studio, tmp_path: Path, name: str) -> None:
    family = FAMILIES[name]
    for number, colour in enumerate(COLOURS[:2]):
        (tmp_path / f"{number}.png").write_bytes(png(colour))
    with serve(family, in_turns([("execute_bash", {"command": "echo one"})])) as server:
        config = family.config(server, images="on", api=API.get(name, "auto"))
        run = studio.run("Look.", inputs=[tmp_path / "0.png", tmp_path / "1.png"], model=config)
        submitted(run)
    sources = [each.source for each in pictures(run, studio)]
    assert sources == ["input/0.png", "input/1.png"]
    assert (
        find_pictures(server.seen[0].body)
        == shown(run, studio)
        == find_pictures(server.seen[-1].body)
    )


def test_older_pictures_are_replaced_by_their_description(studio: Studio) -> None:
    family = FAMILIES["anthropic-4.7"]
    turns = [[draw("a.png", f"#{20 * at:02x}0000"), view("a.png")] for at in range(12)]
    turns += [[draw("b.png", f"#00{20 * at:02x}00"), view("b.png")] for at in range(8)]
    with serve(family, in_turns(*turns)) as server:
        run = studio.run("Draw.", model=family.config(server, images="on"))
        submitted(run)
    dropped = [each for each in recorded(run, studio) if isinstance(each, PicturesDropped)]
    assert len(dropped) == 1
    assert list(dropped[0].pictures) == pictures(run, studio)[:9]
    sent = find_pictures(server.seen[-1].body)
    assert sent == shown(run, studio)[9:]
    assert max(len(find_pictures(each.body)) for each in server.seen) == 17
    assert "a.png (320 × 240 pixels): it was shown here and is no longer" in str(
        server.seen[-1].body
    )
    check_rebuilt(RunFolder.open(studio.path, run.id), steps=21)


class FewPictures(ChatApi):
    """A server that takes two pictures in a request."""

    most_pictures = 2


def test_a_server_that_takes_few_pictures_is_asked_once_and_then_gets_the_latest(
    studio: Studio, tmp_path: Path
) -> None:
    (tmp_path / "task.png").write_bytes(png("black"))
    few = replace(FAMILIES["openai-compatible"], apis=lambda: [FewPictures()])
    turns = [[draw(f"{at}.png", colour), view(f"{at}.png")] for at, colour in enumerate(COLOURS)]
    with serve(few, in_turns(*turns)) as server:
        config = few.config(server, images="on")
        run = studio.run("Draw.", inputs=[tmp_path / "task.png"], model=config)
        submitted(run)
    refused = [each for each in server.refusals if "At most 2" in each]
    assert len(refused) == 1
    stored = shown(run, studio)
    assert [len(find_pictures(each.body)) for each in server.seen] == [1, 2, 2, 2, 2]
    assert find_pictures(server.seen[-1].body) == stored[-2:]
    assert "task.png (320 × 240 pixels): the model's endpoint takes no more pictures" in str(
        server.seen[-1].body
    )
    notices = [each.text for each in recorded(run, studio) if isinstance(each, Notice)]
    assert notices == [
        "The endpoint refused 3 pictures in one request. From now on it gets 2 pictures, the "
        "latest, and descriptions of the others."
    ]
    dropped = [each for each in recorded(run, studio) if isinstance(each, PicturesDropped)]
    assert [len(each.pictures) for each in dropped] == [1, 1, 1]
    check_rebuilt(RunFolder.open(studio.path, run.id), steps=5)


def test_a_limit_of_pictures_is_known_in_later_rounds_and_after_a_restart(studio: Studio) -> None:
    few = replace(FAMILIES["openai-compatible"], apis=lambda: [FewPictures()])
    turns = [[draw(f"{at}.png", colour), view(f"{at}.png")] for at, colour in enumerate(COLOURS)]
    again = in_turns(*turns[:1])

    def later(seen: Seen) -> Turn:
        return again(replace(seen, commands=seen.commands[9:]))  # after the first round's

    with serve(few, by_last_user(FIRST=in_turns(*turns), AGAIN=later), 2) as server:
        config = few.config(server, images="on")
        run = studio.run("FIRST", model=config)
        submitted(run)
        run.close()
        folder = RunFolder.open(studio.path, run.id)
        with RecordedRun(folder, LocalSandboxProvider(studio.path)) as continued:
            list(continued.follow_up("AGAIN", select_model("", config, studio.settings).model))
    assert sum("At most 2" in each for each in server.refusals) == 1
    assert [len(find_pictures(each.body)) for each in server.seen[-2:]] == [2, 2]
    assert find_pictures(server.seen[-1].body) == shown(run, studio)[-2:]
    check_rebuilt(folder, steps=7)


def test_with_images_off_a_view_describes_and_nothing_is_sent(studio: Studio) -> None:
    family = FAMILIES["anthropic-4.7"]
    with serve(family, in_turns([draw("a.png", "red")], [view("a.png")])) as server:
        run = studio.run("Draw.", model=family.config(server, images="off"))
        outputs = submitted(run)
    assert pictures(run, studio) == []
    assert "PNG picture, 320 × 240 pixels" in outputs[1]
    assert "You cannot see pictures" in outputs[1]
    assert all(each.ok for each in recorded(run, studio) if isinstance(each, ToolEnded))
    assert "shows it to you" not in str(server.seen[0].body["tools"])


def test_a_fork_before_and_after_a_look_has_what_its_steps_saw(studio: Studio) -> None:
    family = FAMILIES["openai-responses"]
    script = in_turns([draw("a.png", "red")], [view("a.png")])
    with serve(family, script) as server:
        config = family.config(server, images="on", api="responses")
        run = studio.run("Draw.", model=config)
        submitted(run)
        before = studio.fork(run.id, 1, model=config)
        submitted(before)
        after = studio.fork(run.id, 2, model=config)
        submitted(after)
    stored = shown(run, studio)
    names = {each.file for each in pictures(run, studio)}
    for fork, sent in ((before, server.seen[3]), (after, server.seen[-1])):
        outputs = RunFolder.open(studio.path, fork.id).outputs
        assert {path.name for path in outputs.iterdir()} == names
        assert find_pictures(sent.body) == ([] if fork is before else stored)


def test_a_responses_server_that_takes_only_texts_as_results_gets_pictures_after_them(
    studio: Studio,
) -> None:
    strict = replace(
        FAMILIES["openai-responses"],
        host="",
        apis=lambda: [ResponsesApi(pictures_in_results=False)],
    )
    script = in_turns([draw("a.png", "red")], [view("a.png"), view("a.png")], [view("a.png")])
    with serve(strict, script) as server:
        run = studio.run("Draw.", model=strict.config(server, images="on", api="responses"))
        submitted(run)
    items = server.seen[-1].body["input"]
    assert [item["type"] for item in items if item["type"] != "reasoning"] == [
        "message", *("function_call", "function_call_output"),
        *("function_call", "function_call"), *("function_call_output", "function_call_output"),
        "message", *("function_call", "function_call_output"), "message",
    ]  # fmt: skip
    assert find_pictures(items) == shown(run, studio)
    check_rebuilt(RunFolder.open(studio.path, run.id), steps=4)


def test_a_replay_looks_again_and_finds_the_same(studio: Studio) -> None:
    family = FAMILIES["anthropic-4.7"]
    with serve(family, in_turns([draw("a.png", "red")], [view("a.png")])) as server:
        run = studio.run("Draw.", model=family.config(server, images="on"))
        submitted(run)
    replayed = studio.replay(run.id)
    events = list(replayed)
    verdicts = [each.verdict for each in events if isinstance(each, StepVerified)]
    assert set(verdicts) == {"same"}
    assert shown(replayed, studio) == shown(run, studio)


def test_the_pages_of_a_scan_are_sent_in_plain_mode(studio: Studio, tmp_path: Path) -> None:
    files = {
        "scan.pdf": make_pdf([PdfPage([]), PdfPage([])]),
        "text.pdf": make_pdf([PdfPage(["Written"])]),
        "photo.png": png("red"),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    family = FAMILIES["anthropic-4.7"]
    for images, count in (("on", 3), ("off", 0)):
        with serve(family, lambda _: Turn("It says so.")) as server:
            config = family.config(server, images=images)
            run = studio.run(
                "Read.", inputs=[tmp_path / name for name in files], model=config, mode="plain"
            )
            run.wait()
            assert run.result.status == "answered"
        body = server.seen[0].body
        assert len(find_pictures(body)) == count
        assert "Written" in str(body)
        assert ("it may be a scan" in str(body)) == (images == "off")
    assert "You see it as pictures" not in str(body)


PDFS: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {
    "auto": (2, ("First words", "You see its 2 pages as pictures"), ()),
    "text": (0, ("First words", "it may be a scan"), ("You see",)),
    "pages": (4, ("You see its 2 pages as pictures",), ("First words", "it may be a scan")),
    "both": (4, ("First words", "The text follows", "You see its 2 pages"), ("it may be",)),
}
"""How many pictures are sent of two PDFs, one of them a scan, and which words are, and are not."""


@pytest.mark.parametrize("name", ["openai-compatible", "openai-responses", "anthropic-4.7"])
@pytest.mark.parametrize("pdfs", PDFS)
def test_in_plain_mode_pdfs_are_sent_as_text_pages_or_both(
    studio: Studio, tmp_path: Path, name: str, pdfs: str
) -> None:
    """The pages are separate pictures in their order, each named, with the message."""
    family = FAMILIES[name]
    (tmp_path / "a.pdf").write_bytes(make_pdf([PdfPage(["First words"]), PdfPage(["Second"])]))
    (tmp_path / "b.pdf").write_bytes(make_pdf([PdfPage([]), PdfPage([])]))
    with serve(family, lambda _: Turn("It says so.")) as server:
        config = family.config(server, images="on", api=API.get(name, "auto"))
        inputs = [tmp_path / "a.pdf", tmp_path / "b.pdf"]
        run = studio.run("Read.", inputs=inputs, model=config, mode="plain", pdfs=pdfs)  # type: ignore[arg-type]
        run.wait()
        assert run.result.status == "answered"
    count, present, absent = PDFS[pdfs]
    (request,) = server.seen
    sources = [each.source for each in pictures(run, studio)]
    named = [f"input/{each}.pdf, page {page}" for each in "ab" for page in (1, 2)]
    assert sources == (named if count == 4 else named[2:])[:count]
    assert find_pictures(request.body) == shown(run, studio)
    text = str(request.body)
    assert [words in text for words in present] == [True] * len(present)
    assert [words in text for words in absent] == [False] * len(absent)
    places = [text.index(f"{source} (") for source in sources]
    assert places == sorted(places), "each page is named, in order"
    started = recorded(run, studio)[0]
    assert isinstance(started, RunStarted)
    assert started.spec.get("pdfs") == (None if pdfs == "auto" else pdfs)


def test_a_model_without_eyes_gets_the_text_and_the_user_is_told(
    studio: Studio, tmp_path: Path
) -> None:
    family = FAMILIES["anthropic-4.7"]
    (tmp_path / "a.pdf").write_bytes(make_pdf([PdfPage(["First words"])]))
    (tmp_path / "b.pdf").write_bytes(make_pdf([PdfPage([])]))
    with serve(family, lambda _: Turn("It says so.")) as server:
        config = family.config(server, images="off")
        inputs = [tmp_path / "a.pdf", tmp_path / "b.pdf"]
        run = studio.run("Read.", inputs=inputs, model=config, mode="plain", pdfs="pages")
        run.wait()
    assert find_pictures(server.seen[0].body) == []
    assert "First words" in str(server.seen[0].body)
    notices = [each.text for each in recorded(run, studio) if isinstance(each, Notice)]
    assert [text.partition(":")[0] for text in notices] == [
        "This model takes no pictures, so it gets the text of the PDFs and not their pages. If it "
        "does take some, set Pictures to “on”.",
        "No text was found in input/b.pdf",
    ]


def test_a_picture_that_cannot_be_drawn_is_said_and_the_run_goes_on(
    studio: Studio, tmp_path: Path
) -> None:
    (tmp_path / "damaged.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(99))
    (tmp_path / "whole.png").write_bytes(png("red"))
    family = FAMILIES["anthropic-4.7"]
    with serve(family, lambda _: submit()) as server:
        inputs = [tmp_path / "damaged.png", tmp_path / "whole.png"]
        run = studio.run("Look.", inputs=inputs, model=family.config(server, images="on"))
        submitted(run)
    assert [each.source for each in pictures(run, studio)] == ["input/whole.png"]
    notices = [each.text for each in recorded(run, studio) if isinstance(each, Notice)]
    assert [text.partition(":")[0] for text in notices] == [
        "The model does not see input/damaged.png"
    ]


def test_pictures_stay_after_a_restart(studio: Studio) -> None:
    """The journal and the run's outputs are all that a continued run has."""
    family = FAMILIES["openai-compatible"]
    with serve(family, in_turns([draw("a.png", "red")], [view("a.png")]), 2) as server:
        config = family.config(server, images="on")
        run = studio.run("Draw.", model=config)
        submitted(run)
        stored = shown(run, studio)
        run.close()
        continued = RecordedRun(
            RunFolder.open(studio.path, run.id), LocalSandboxProvider(studio.path)
        )
        with continued:
            list(continued.follow_up("Again.", select_model("", config, studio.settings).model))
    assert find_pictures(server.seen[-1].body) == stored
    check_rebuilt(RunFolder.open(studio.path, run.id), steps=4)
