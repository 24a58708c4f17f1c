"""Long outputs: complete in a file, with only the end in the journal."""

from pathlib import Path

from agent.events import ToolOutput
from agent.runs.outputs.long_outputs import MAX_JOURNAL_BYTES, LongOutputs
from agent.sandbox.base import StreamName


def output(text: str, stream: StreamName = "stdout", skipped: int = 0) -> ToolOutput:
    return ToolOutput(step=3, call_id="../a/b", stream=stream, text=text, skipped=skipped)


LONG = "x" * (MAX_JOURNAL_BYTES + 1)


def test_a_short_output_stays_in_the_journal(tmp_path: Path) -> None:
    outputs, event = LongOutputs(tmp_path), output("hello")
    assert outputs.truncate(event) == event
    assert list(tmp_path.iterdir()) == []


def test_a_long_output_is_complete_in_its_file_and_short_in_the_journal(tmp_path: Path) -> None:
    outputs = LongOutputs(tmp_path)
    parts = [f"{n}:" + "x" * 1000 + "\n" for n in range(100)]
    events = [outputs.truncate(output(part)) for part in parts]
    outputs.end_call()
    (file,) = tmp_path.iterdir()
    assert file.name == events[-1].output_file
    assert file.read_text() == "".join(parts)
    assert sum(len(event.text) for event in events if not event.output_file) <= MAX_JOURNAL_BYTES
    assert events[-1].text == parts[-1]


def test_a_huge_chunk_leaves_only_its_tail_in_the_journal(tmp_path: Path) -> None:
    outputs = LongOutputs(tmp_path)
    event = outputs.truncate(output("é" * 1_000_000 + "end"))
    outputs.end_call()
    assert len(event.text) < 5000
    assert event.text.endswith("end")


def test_a_stream_is_in_its_file_until_the_call_ends(tmp_path: Path) -> None:
    outputs = LongOutputs(tmp_path)
    assert outputs.truncate(output(LONG)).output_file
    assert not outputs.truncate(output("error", "stderr")).output_file
    event = outputs.truncate(output("tail", skipped=12_345))
    outputs.end_call()
    assert "[12,345 bytes left out]\ntail" in (tmp_path / event.output_file).read_text()
    assert not outputs.truncate(output("short")).output_file


def test_each_call_has_its_own_file_in_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "outputs"
    folder.mkdir()
    outputs = LongOutputs(folder)
    ids = ("call:1", "call_1", "c" * 80 + "1", "c" * 80 + "2", "../a/b")
    for call_id in ids:
        outputs.truncate(ToolOutput(step=3, call_id=call_id, stream="stdout", text=LONG))
        outputs.end_call()
    assert [path.parent for path in tmp_path.rglob("*stdout")] == [folder] * len(ids)
