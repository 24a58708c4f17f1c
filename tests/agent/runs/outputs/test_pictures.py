"""The pictures that a run's model gets: stored by content, read back checked."""

import hashlib
from pathlib import Path

import pytest

from agent.errors import RunError
from agent.events import PicturesDropped, decode, encode
from agent.loop.conversation import Conversation
from agent.models.base import Picture, ToolCall, ToolResult, UserMessage
from agent.runs import journal
from agent.runs.journal import Journal
from agent.runs.outputs.pictures import PictureStore, is_picture_name, pictures_in
from tests.support.component.events import answered, continued, started, tool_ended

DATA = b"\x89PNG pretended"


def picture(data: bytes = DATA, source: str = "output/chart.png") -> Picture:
    name = f"{hashlib.sha256(data).hexdigest()}.png"
    return Picture(name, "image/png", 8, 6, len(data), source, 100)


def test_a_picture_is_named_after_its_bytes_and_stored_once(tmp_path: Path) -> None:
    store = PictureStore(tmp_path)
    assert store.keep(DATA, "image/png") == store.keep(DATA, "image/png") == picture().file
    assert [path.name for path in tmp_path.iterdir()] == [picture().file]
    assert is_picture_name(picture().file)
    assert store.read(picture()) == DATA


@pytest.mark.parametrize("damage", ["missing", "other bytes", "folder", "outside"])
def test_what_is_not_the_stored_picture_is_refused(tmp_path: Path, damage: str) -> None:
    shown = picture()
    if damage == "other bytes":
        (tmp_path / shown.file).write_bytes(b"other")
    elif damage == "folder":
        (tmp_path / shown.file).mkdir()
    elif damage == "outside":
        (tmp_path / "secret").write_bytes(DATA)
        shown = Picture("../secret", "image/png", 8, 6, 4, "x", 1)
    with pytest.raises(RunError, match="is missing from the run's record"):
        PictureStore(tmp_path / "outputs" if damage == "outside" else tmp_path).read(shown)


def test_a_journal_names_its_pictures_up_to_a_cursor(tmp_path: Path) -> None:
    recorded = Journal(tmp_path / "journal.jsonl")
    recorded.append(started(pictures=(picture(b"task"),)))
    recorded.append(answered(1, "", ToolCall("a", "execute_bash", "{}")))
    cursor = recorded.append(tool_ended(1, "a", "See the picture.", pictures=(picture(b"look"),)))
    recorded.append(continued("more", pictures=(picture(b"later"),)))
    recorded.close()
    assert list(pictures_in(recorded.path, cursor)) == [
        picture(b"task").file,
        picture(b"look").file,
    ]
    assert len(pictures_in(recorded.path)) == 3
    read = [event for _, event in journal.read(recorded.path)]
    assert Conversation(read).pictures() == [picture(b"task"), picture(b"look"), picture(b"later")]


def test_an_event_of_an_earlier_version_has_no_pictures() -> None:
    line = encode(tool_ended(1, "a", "out")).replace(b'"pictures":[],', b"")
    assert b"pictures" not in line
    assert decode(line) == tool_ended(1, "a", "out", at=decode(line).at)


def test_dropped_pictures_leave_their_description() -> None:
    call = ToolCall("a", "str_replace_editor", "{}")
    conversation = Conversation(
        [
            started(user="Look.", pictures=(picture(b"1", "input/a.png"), picture(b"2"))),
            answered(1, "", call),
            tool_ended(1, "a", "Shown.", name=call.name, pictures=(picture(b"3"),)),
            continued("Go on."),
        ]
    )
    dropped = PicturesDropped(step=2, pictures=tuple(conversation.pictures()[:1]), note="dropped")
    conversation.apply(dropped)
    assert conversation.messages[0] == UserMessage(
        "Look.\n[input/a.png (8 × 6 pixels): dropped]", (picture(b"2"),)
    )
    assert conversation.messages[2] == ToolResult("a", call.name, "Shown.", (picture(b"3"),))
    conversation.apply(PicturesDropped(step=2, pictures=(picture(b"2"), picture(b"3")), note="x"))
    assert conversation.pictures() == []
