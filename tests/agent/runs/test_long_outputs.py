"""Long outputs: complete in a file, with only the end in the journal."""

from pathlib import Path

from agent.events import ToolOutput
from agent.runs.long_outputs import MAX_JOURNAL_BYTES, LongOutputs
from agent.sandbox.base import StreamName


def output(text: str, stream: StreamName = "stdout", skipped: int = 0) -> ToolOutput:
    return ToolOutput(step=3, call_id="../a/b", stream=stream, text=text, skipped=skipped)


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


def test_streams_are_stored_separately(tmp_path: Path) -> None:
    outputs = LongOutputs(tmp_path)
    long = outputs.truncate(output("x" * (MAX_JOURNAL_BYTES + 1)))
    short = outputs.truncate(output("error", "stderr"))
    outputs.end_call()
    assert long.output_file
    assert not short.output_file


def test_a_gap_is_noted_in_the_file(tmp_path: Path) -> None:
    outputs = LongOutputs(tmp_path)
    outputs.truncate(output("x" * (MAX_JOURNAL_BYTES + 1)))
    event = outputs.truncate(output("tail", skipped=12_345))
    outputs.end_call()
    assert "[12,345 bytes left out]\ntail" in (tmp_path / event.output_file).read_text()


def test_a_call_id_cannot_escape_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "outputs"
    folder.mkdir()
    outputs = LongOutputs(folder)
    outputs.truncate(output("x" * (MAX_JOURNAL_BYTES + 1)))
    outputs.end_call()
    assert [path.parent for path in tmp_path.rglob("*stdout")] == [folder]


def test_the_next_call_starts_a_new_file(tmp_path: Path) -> None:
    outputs = LongOutputs(tmp_path)
    outputs.truncate(output("x" * (MAX_JOURNAL_BYTES + 1)))
    outputs.end_call()
    assert not outputs.truncate(output("short")).output_file


def test_similar_call_ids_have_separate_files(tmp_path: Path) -> None:
    outputs, text = LongOutputs(tmp_path), "x" * (MAX_JOURNAL_BYTES + 1)
    names = set()
    for call_id in ("call:1", "call_1", "c" * 80 + "1", "c" * 80 + "2"):
        event = ToolOutput(step=3, call_id=call_id, stream="stdout", text=text)
        names.add(outputs.truncate(event).output_file)
        outputs.end_call()
    assert len(names) == 4
