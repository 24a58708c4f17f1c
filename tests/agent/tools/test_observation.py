"""Observations: legible, limited, and accurate about omitted output."""

import re
import tracemalloc
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.sandbox.base import CommandEnd, EndReason, OutputChunk, StreamName
from agent.tools.observation import OutputCollector, OutputDecoder, OutputLimits
from agent.util.text import EscapeFilter, sanitize

no_deadline = settings(deadline=None)
TRUNCATION_MARK = re.compile(
    r"-{50}<Observation truncated in middle for saving context: (.*) left out>-{50}\n"
)
OMITTED_COUNTS = re.compile(r"(\d+) characters \((\d+) whole lines\)")


EXITED = CommandEnd(0, "exit", 0.1)


def observed(
    *chunks: OutputChunk, finished: CommandEnd = EXITED, clip: OutputLimits | None = None
) -> str:
    collector = OutputCollector(clip)
    for chunk in chunks:
        collector.feed(chunk)
    return collector.observation(finished, timeout=120)


def observation(stdout: bytes = b"", stderr: bytes = b"", finished: CommandEnd = EXITED) -> str:
    streams = OutputChunk("stdout", stdout), OutputChunk("stderr", stderr)
    return observed(*streams, finished=finished)


def shown_stdout(*pieces: bytes | OutputChunk, clip: OutputLimits | None = None) -> str:
    """Return the shown part of a standard output that arrives in these pieces."""
    chunks = [OutputChunk("stdout", each) if isinstance(each, bytes) else each for each in pieces]
    return observed(*chunks, clip=clip).partition("[STDOUT]\n")[2]


class TestLayout:
    def test_format_equals_the_reference_without_backslashes(self) -> None:
        assert observation(b"out\n") == (
            "Exit code: 0\nExecution output of [execute_bash]:\n[STDOUT]\nout"
        )

    def test_stderr_is_shown_if_it_is_not_blank(self) -> None:
        assert observation(b"out\n", b"bad\n").endswith("[STDOUT]\nout\n[STDERR]\nbad")
        assert "[STDERR]" not in observation(b"out\n", b" \n\n")

    @pytest.mark.parametrize("code", [3, 124])  # 124 is not a timeout
    def test_a_failure_starts_with_error(self, code: int) -> None:
        text = observation(finished=CommandEnd(code, "exit", 0.1))
        assert text.startswith(f"Error: Exit code {code}\n")

    @pytest.mark.parametrize(
        ("ending", "message"),
        [
            ("timeout", "Error: the command was ended after its time limit of 120 s"),
            ("stop", "Error: the command was ended because the run was stopped"),
            ("lost", "Error: the sandbox was lost"),
            ("full", "Error: the command was ended because the disk was full; see the note below."),
        ],
    )
    def test_output_before_an_early_end_is_kept(self, ending: EndReason, message: str) -> None:
        text = observation(b"so far", finished=CommandEnd(None, ending, 120.0))
        assert text.startswith(message)
        assert text.endswith("so far")

    def test_the_sandbox_note_is_included(self) -> None:
        note, storage = "The shell was restored.", "60 MB of 60 MB used."
        text = observation(b"x", finished=replace(EXITED, note=note, storage_note=storage))
        assert text.endswith(f"x\nNote: {storage}\nNote: {note}")


class TestLegibility:
    @pytest.mark.parametrize(
        ("written", "read"),
        [
            pytest.param(b"\x1b[1;31mred\x1b[0m", "red", id="colour"),
            pytest.param(b"\x1b[2K\x1b[1Gone\x1b[?25l", "one", id="cursor"),
            pytest.param(b"\x1b]0;title\x07text", "text", id="OSC ended by BEL"),
            pytest.param(b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link", id="hyperlink"),
            pytest.param(b"\x1bPq#0\x1b\\after", "after", id="DCS"),
            pytest.param(b"\x1b(Bplain\x1b7\x1b8", "plain", id="short"),
            pytest.param(b"\x1b]never ended\nnext", "\nnext", id="OSC without an end"),
            pytest.param(b"end\x1b[3", "end", id="cut off"),
            pytest.param(b"10%\r50%\r100%\ndone\n", "100%\ndone", id="progress bar"),
            pytest.param(b"10%\r50%\r", "50%", id="progress bar so far"),
            pytest.param(b"a\r\nb\r\r\n", "a\nb", id="CRLF is a line end"),
            pytest.param(b"a\x00b\x07\x7f", "a␀b␇␡", id="control characters"),
            pytest.param(b"\xff\xfeab\x80", "��ab�", id="binary"),
            pytest.param(b"\tindented\n\x0c", "\tindented\n\x0c", id="tabs and form feeds"),
        ],
    )
    def test_chunk_boundaries_do_not_change_the_text(self, written: bytes, read: str) -> None:
        assert shown_stdout(written) == read
        assert shown_stdout(*(bytes([byte]) for byte in written)) == read

    @no_deadline
    @given(st.text())
    def test_terminal_control_sequences_are_removed(self, text: str) -> None:
        assert not re.search("[\x00-\x08\x0b\x0d-\x1f\x7f-\x9f]", shown_stdout(text.encode()))

    @no_deadline
    @given(st.text())
    def test_legible_text_keeps_its_length(self, text: str) -> None:
        assert len(sanitize(text)) == len(text)

    def test_a_long_control_string_is_not_buffered(self) -> None:
        escapes = EscapeFilter()
        assert escapes.feed("\x1b]1337;File=") == ""
        for _ in range(100):
            assert escapes.feed("A" * 100_000) == ""
        assert escapes.feed("\x07after") == "after"


class TestClipping:
    def test_longer_output_shows_the_first_and_last_forty_lines(self) -> None:
        eighty = "".join(f"line {n}\n" for n in range(80))
        assert shown_stdout(eighty.encode()) == eighty.removesuffix("\n")
        text = shown_stdout(b"".join(b"line %d\n" % n for n in range(100)))
        before, cut, after = TRUNCATION_MARK.split(text)
        assert before.splitlines() == [f"line {n}" for n in range(40)]
        assert after.splitlines() == [f"line {n}" for n in range(60, 100)]
        assert cut == "160 characters (20 whole lines)"

    def test_a_very_long_line_is_truncated_by_characters(self) -> None:
        before, cut, after = TRUNCATION_MARK.split(shown_stdout(b"x" * 300_000))
        assert (len(before) - 1, len(after)) == (5_000, 5_000)
        assert cut == "290000 characters (0 whole lines)"

    def test_each_stream_has_its_own_limit(self) -> None:
        text = observation(b"o" * 20_000, b"e" * 20_000)
        assert (text.count("o" * 5_000), text.count("e" * 5_000)) == (2, 2)
        assert len(TRUNCATION_MARK.findall(text)) == 2

    @no_deadline
    @given(
        st.lists(st.text("ab", max_size=12), max_size=30),
        st.booleans(),
        st.integers(min_value=1, max_value=4),
        st.integers(min_value=2, max_value=60),
        st.integers(min_value=1, max_value=50),
    )
    def test_shown_and_omitted_counts_add_up_to_the_total(
        self, lines: list[str], ended: bool, most: int, characters: int, size: int
    ) -> None:
        whole = "\n".join(lines) + "\n" * ended
        data = whole.encode()
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        text = shown_stdout(*pieces, clip=OutputLimits(most, characters))
        if TRUNCATION_MARK.search(text) is None:
            assert text == whole.removesuffix("\n")
            assert len(whole.removesuffix("\n").split("\n")) <= 2 * most
            assert len(whole) <= characters
            return
        before, cut, after = TRUNCATION_MARK.split(text)
        left = OMITTED_COUNTS.fullmatch(cut)
        assert left is not None
        left_out, left_lines = int(left[1]), int(left[2])
        missing_end = whole.endswith("\n") and not after.endswith("\n\n")
        tail = after + "\n" * missing_end
        heads = [before] if whole.startswith(before) else []
        heads.append(before.removesuffix("\n"))
        head = next(head for head in heads if len(head) + left_out + len(tail) == len(whole))
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert len(head) + len(tail) <= characters
        middle = whole[len(head) : len(whole) - len(tail)]
        whole_lines = middle.count("\n") - (
            not head.endswith("\n") and "\n" in middle and head != ""
        )
        assert left_lines == whole_lines

    def test_gaps_are_reported_where_they_occur(self) -> None:
        text = shown_stdout(b"first\n", OutputChunk("stdout", b"last\n", skipped=12_345))
        before, cut, after = TRUNCATION_MARK.split(text)
        assert (before, after) == ("first\n", "last")
        assert cut == "12345 bytes that the sandbox did not keep"

    def test_a_gap_is_never_hidden(self) -> None:
        gaps = [OutputChunk("stdout", b"part %d" % n, skipped=1000 * n) for n in range(3)]
        text = shown_stdout(*gaps)
        assert text.startswith("part 0\n---")
        assert "3000 bytes that the sandbox did not keep left out" in text
        assert text.endswith("part 1\n[… 2000 bytes not kept …]\npart 2")

    def test_a_hundred_megabytes_take_little_memory(self) -> None:
        chunk = OutputChunk("stdout", b"y" * (1 << 16))
        tracemalloc.start()
        text = observed(*[chunk] * 1600)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert f"{1600 * 2**16 - 10_000} characters (0 whole lines) left out" in text
        assert peak < 2_000_000


class TestLiveText:
    @no_deadline
    @given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 5))
    def test_characters_split_across_chunks_are_decoded(self, text: str, size: int) -> None:
        data, live = text.encode(), OutputDecoder()
        pieces = [OutputChunk("stdout", data[at : at + size]) for at in range(0, len(data), size)]
        assert "".join(map(live.decode, pieces)) + live.flush("stdout") == text

    def test_the_streams_do_not_mix(self) -> None:
        live = OutputDecoder()
        halves = [
            ("stdout", b"\xc3"),
            ("stderr", b"e\xc3"),
            ("stdout", b"\xa9"),
            ("stderr", b"\xa8"),
        ]
        shown = [live.decode(OutputChunk(cast(StreamName, name), half)) for name, half in halves]
        assert shown == ["", "e", "é", "è"]

    def test_an_incomplete_character_is_flushed_at_the_end_or_dropped_at_a_gap(self) -> None:
        live = OutputDecoder()
        assert live.decode(OutputChunk("stdout", b"a\xf0\x9f")) == "a"
        assert live.flush("stdout") == "�"
        live.decode(OutputChunk("stdout", b"\xf0\x9f"))
        assert live.decode(OutputChunk("stdout", b"ok", skipped=5)) == "ok"
