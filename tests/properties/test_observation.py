"""What the model sees of an output, compared with the complete output."""

import re

from hypothesis import strategies as st

from agent.sandbox.base import CommandEnd, OutputChunk, StreamName
from agent.tools.observation import OutputCollector, OutputLimits
from tests.properties import property_test, split_at

STREAMS: list[StreamName] = ["stdout", "stderr"]
BITS = st.sampled_from(
    [b"word ", b"\n", b"\r", b"\r\n", b"\xc3\xa9", b"\xff", b"\xf0\x9f\x8e\x88", b"\xf0\x9f",
     b"\x1b[31m", b"\x1b]0;title\x07", b"\x1b", b"\x00", b"\x9b", b"x" * 70, b"\t", b"\x08"]
)  # fmt: skip
WRITTEN = st.lists(st.tuples(st.sampled_from(STREAMS), BITS), max_size=40)
LIMITS = st.builds(OutputLimits, st.integers(1, 4), st.integers(2, 80))


def observation_of(written: list[OutputChunk], limits: OutputLimits) -> str:
    collector = OutputCollector(limits)
    for each in written:
        collector.feed(each)
    return collector.observation(CommandEnd(0, "exit", 0.1), timeout=1)


def split_streams(text: str) -> tuple[str, str]:
    _, _, rest = text.partition("[STDOUT]\n")
    out, _, err = rest.partition("\n[STDERR]\n")
    return out, err


def join_streams(written: list[tuple[StreamName, bytes]]) -> dict[StreamName, bytes]:
    return {name: b"".join(data for of, data in written if of == name) for name in STREAMS}


@property_test(WRITTEN, LIMITS, st.lists(st.integers(0, 400), max_size=12))
def test_the_observation_is_legible_and_does_not_depend_on_chunks_and_interleaving(
    written: list[tuple[StreamName, bytes]], limits: OutputLimits, offsets: list[int]
) -> None:
    whole = join_streams(written)
    pieces: list[OutputChunk] = []
    for name in STREAMS:
        pieces += [OutputChunk(name, part) for part in split_at(whole[name], offsets)]
    by_stream = [OutputChunk(name, data) for name, data in whole.items()]
    shown = observation_of([OutputChunk(name, data) for name, data in written], limits)
    assert shown == observation_of(pieces, limits) == observation_of(by_stream, limits)
    assert not re.search("[\x00-\x08\x0b\x0d-\x1f\x7f-\x9f]", shown)
    assert all(len(each) <= limits.characters + 200 for each in split_streams(shown))


@property_test(st.lists(st.tuples(BITS, st.sampled_from([0, 0, 0, 1, 1000])), max_size=20), LIMITS)
def test_bytes_skipped_by_the_sandbox_are_always_reported(
    written: list[tuple[bytes, int]], limits: OutputLimits
) -> None:
    pieces = [OutputChunk("stdout", data, skipped=skipped) for data, skipped in written]
    missing = sum(skipped for _, skipped in written)
    shown, _ = split_streams(observation_of(pieces, limits))
    note = f"{missing} bytes that the sandbox did not keep"
    assert (note in shown) == bool(missing)
    assert len(shown) <= limits.characters + 400
