"""Pictures in traces: what is read from content parts, and written to each format and back."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.events import (
    MessageDelivered,
    ModelAnswered,
    RunContinued,
    RunStarted,
    StepStarted,
    ToolEnded,
    encode,
)
from agent.models.base import ToolCall
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.outputs.pictures import MAX_BYTES, PictureStore, pictures_in
from agent.traces.formats import atif, sts
from agent.traces.formats.images import image_of, size_of
from agent.traces.importing import import_file
from agent.traces.journal_items import (
    anthropic_of_journal,
    items_of_journal,
    messages_of_journal,
)
from tests.agent.runs.outputs.sample_pictures import encode_picture, keep_picture
from tests.support.component.events import answered, continued, ended, started, step_end, tool_ended

PNG, JPEG = encode_picture("#2474b5"), encode_picture("#2c7a4b", "JPEG")
BASE64 = base64.b64encode(PNG).decode()
URL = f"data:image/png;base64,{BASE64}"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": URL, "detail": "high"}},
        {"type": "image_url", "image_url": URL},
        {"type": "input_image", "image_url": URL},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BASE64}},
        {"type": "image", "source": {"media_type": "image/png", "path": URL}},
        {"type": "image", "image": URL},
        {"type": "image", "data": BASE64, "mimeType": "image/png"},
    ],
    ids=["chat", "chat text", "responses", "messages", "atif", "inspect", "sts"],
)
def test_a_picture_is_read_from_each_apis_part(part: dict[str, Any]) -> None:
    image = image_of(part)
    assert image is not None
    assert (image.data, image.media_type, size_of(image.data)) == (PNG, "image/png", (64, 40))


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a.png",
        "data:image/png;base64,not base64!",
        "data:image/png,raw",
        "data:image/svg+xml;base64,PHN2Zy8+",
        f"data:image/jpeg;base64,{BASE64}",
        f"data:image/png;base64,{base64.b64encode(PNG[:20]).decode()}",
        f"data:image/png;base64,{'A' * (MAX_BYTES * 4 // 3 + 8)}",
        5,
    ],
    ids=["address", "no base64", "raw", "svg", "other type", "cut", "large", "number"],
)
def test_what_is_no_picture_of_ours_is_left_to_its_description(url: object) -> None:
    assert image_of({"type": "image_url", "image_url": {"url": url}}) is None


def test_the_size_of_a_jpeg_is_in_its_header() -> None:
    assert size_of(JPEG) == (64, 40)
    assert size_of(b"\xff\xd8\xff\xe0\x00\x01") is None
    assert size_of(b"\xff\xd8" + b"\xff\xe0\x00\x02" * 10) is None


def write_run(data: Path) -> RunFolder:
    """A run with pictures of the task, of a result, of a message within and of a follow-up."""
    folder = RunFolder.create(data, "sandbox-of-pictures")
    scan = keep_picture(folder.outputs, "input/scan.pdf, page 37", "#fff", (60, 80))
    chart = keep_picture(folder.outputs, "output/chart.png")
    call = ToolCall("call-1", "str_replace_editor", '{"command": "view"}')
    events = [
        started(user="What is on it?", pictures=(scan,)),
        StepStarted(step=1, note=""),
        answered(1, "", call),
        tool_ended(1, call.id, "The picture follows.", name=call.name, pictures=(chart,)),
        *step_end(1),
        StepStarted(step=2, note=""),
        MessageDelivered(step=2, text="This one, too.", pictures=(scan,)),
        answered(2, "A chart."),
        *step_end(2),
        ended("answered", "A chart."),
        continued("And this?", pictures=(chart,)),
        StepStarted(step=3, note=""),
        answered(3, "The same."),
        *step_end(3),
        ended("answered", "The same."),
    ]
    folder.journal.write_bytes(b"".join(encode(replace(each, at=1e9)) + b"\n" for each in events))
    return folder


WRITERS: dict[str, Callable[[RunFolder], Iterator[str]]] = {
    "atif": lambda run: atif.write(items_of_journal(run.journal), run.id),
    "sts": lambda run: sts.write(items_of_journal(run.journal), run.id),
    "messages": lambda run: messages_of_journal(run.journal),
    "anthropic": lambda run: anthropic_of_journal(run.journal),
}


@pytest.mark.parametrize("name", WRITERS)
def test_pictures_survive_an_export_and_an_import(tmp_path: Path, name: str) -> None:
    run = write_run(tmp_path)
    file = tmp_path / "trace.json"
    file.write_text("".join(WRITERS[name](run)))
    (imported,) = import_file(file, tmp_path)
    read = RunFolder.open(tmp_path, imported.run)
    kinds = (RunStarted, RunContinued, MessageDelivered, ToolEnded)
    found = [
        (event.kind, [each.file for each in event.pictures])
        for _, event in journal.read(read.journal)
        if isinstance(event, kinds) and event.pictures
    ]
    scan, chart = pictures_in(run.journal)
    expected = [
        ("run_started", [scan]),
        ("tool_ended", [chart]),
        ("message_delivered", [scan]),
        ("run_continued", [chart]),
    ]
    assert found == expected
    for picture in pictures_in(read.journal).values():
        assert PictureStore(read.outputs).read(picture)
    ended = next(each for _, each in journal.read(read.journal) if isinstance(each, ToolEnded))
    assert ended.observation == "The picture follows."
    assert ended.pictures[0].source == "output/chart.png"
    if name == "atif":
        assert ended.pictures == tuple(
            each for each in pictures_in(run.journal).values() if each.file == chart
        )


def test_messages_show_the_pictures_of_results_after_all_of_them(tmp_path: Path) -> None:
    (line,) = "".join(messages_of_journal(write_run(tmp_path).journal)).splitlines()
    messages = json.loads(line)["messages"]
    assert [each["role"] for each in messages] == [
        "user", "assistant", "tool", "user", "user", "assistant", "user", "assistant",
    ]  # fmt: skip
    shown = messages[3]["content"]
    assert shown[0]["text"] == "output/chart.png (640 × 400 pixels):"
    assert shown[1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")


def test_anthropics_messages_have_the_pictures_in_the_results(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    (line,) = "".join(anthropic_of_journal(run.journal)).splitlines()
    body = json.loads(line)
    assert [each["role"] for each in body["messages"]][:3] == ["user", "assistant", "user"]
    assert [tool["name"] for tool in body["tools"]][-1] == "submit"
    (result, *_) = body["messages"][2]["content"]
    (shown,) = [part for part in result["content"] if part["type"] == "image"]
    chart = keep_picture(run.outputs, "output/chart.png")
    assert base64.b64decode(shown["source"]["data"]) == PictureStore(run.outputs).read(chart)


def test_blocks_of_anthropics_messages_are_calls_results_and_texts(tmp_path: Path) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": BASE64}
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {"path": "a.png"}}
    thinking = {"type": "thinking", "thinking": "I look.", "signature": "abc"}
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "image", "source": source}],
    }
    failed = {"type": "tool_result", "tool_use_id": "t2", "is_error": True, "content": "No."}
    tool = {"name": "look", "input_schema": {"type": "object"}}
    body = {
        "model": "claude-opus-4-5",
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [tool],
        "messages": [
            {"role": "user", "content": "What is it?"},
            {
                "role": "assistant",
                "content": [
                    thinking,
                    {"type": "text", "text": "Well."},
                    call,
                    {**call, "id": "t2"},
                ],
            },
            {"role": "user", "content": [result, failed, {"type": "text", "text": "Hurry."}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Blue."}]},
        ],
    }
    file = tmp_path / "body.json"
    file.write_text(json.dumps(body))
    (imported,) = import_file(file, tmp_path)
    read = RunFolder.open(tmp_path, imported.run)
    events = [event for _, event in journal.read(read.journal)]
    (start,) = [each for each in events if isinstance(each, RunStarted)]
    assert (start.system, start.user, start.model) == (
        "Be brief.",
        "What is it?",
        "claude-opus-4-5",
    )
    first, second = [each for each in events if isinstance(each, ModelAnswered)]
    assert (first.reasoning, first.text, second.text) == ("I look.", "Well.", "Blue.")
    assert json.loads(first.calls[0].arguments) == {"path": "a.png"}
    shown, refused = [each for each in events if isinstance(each, ToolEnded)]
    assert PictureStore(read.outputs).read(shown.pictures[0]) == PNG
    assert (refused.observation, refused.ok) == ("No.", False)
    assert [each.text for each in events if isinstance(each, MessageDelivered)] == ["Hurry."]
    (line,) = "".join(anthropic_of_journal(read.journal)).splitlines()
    assert json.loads(line)["tools"] == [{**tool, "description": ""}]


def test_pictures_of_other_types_are_named_in_the_text(tmp_path: Path) -> None:
    parts = [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "data:image/webp;base64,AAAA"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]
    messages = [{"role": "user", "content": parts}, {"role": "assistant", "content": "So."}]
    file = tmp_path / "messages.jsonl"
    file.write_text(json.dumps({"messages": messages}))
    (imported,) = import_file(file, tmp_path)
    (first, *_) = journal.read(RunFolder.open(tmp_path, imported.run).journal)
    assert isinstance(first[1], RunStarted)
    assert first[1].user == "See\n[image_url: data]\n[image_url: https://example.org/a.png]"
    assert not first[1].pictures


def test_a_lost_picture_is_left_out_of_an_export(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    for path in run.outputs.iterdir():
        path.unlink()
    for write in WRITERS.values():
        text = "".join(write(run))
        assert "base64" not in text
        assert "The picture follows." in text
