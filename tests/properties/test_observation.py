"""What a model sees of an output, against the whole of it."""

import re

from hypothesis import strategies as st

from agent.sandbox.base import CommandEnd, OutputChunk, StreamName
from agent.tools.observation import OutputCollector, OutputLimits
from tests.properties import holds

STREAMS: list[StreamName] = ["stdout", "stderr"]
BITS = st.sampled_from(
    [b"word ", b"\n", b"\r", b"\r\n", b"\xc3\xa9", b"\xff", b"\xf0\x9f\x8e\x88", b"\xf0\x9f",
     b"\x1b[31m", b"\x1b]0;title\x07", b"\x1b", b"\x00", b"\x9b", b"x" * 70, b"\t", b"\x08"]
)  # fmt: skip
WRITTEN = st.lists(st.tuples(st.sampled_from(STREAMS), BITS), max_size=40)
CLIPS = st.builds(OutputLimits, st.integers(1, 4), st.integers(2, 80))
WHOLE = OutputLimits(1_000_000, 10_000_000)
RULE = re.compile("-{50}<Observation truncated in middle for saving context: (.+) left out>-{50}")


def observed(written: list[OutputChunk], clip: OutputLimits) -> str:
    collector = OutputCollector(clip)
    for each in written:
        collector.feed(each)
    return collector.observation(CommandEnd(0, "exit", 0.1), timeout=1)


def parts(text: str) -> tuple[str, str]:
    _, _, rest = text.partition("[STDOUT]\n")
    out, _, err = rest.partition("\n[STDERR]\n")
    return out, err


def joined(written: list[tuple[StreamName, bytes]]) -> dict[StreamName, bytes]:
    return {name: b"".join(data for of, data in written if of == name) for name in STREAMS}


@holds(WRITTEN, CLIPS, st.lists(st.integers(0, 400), max_size=12))
def test_neither_pieces_nor_their_order_among_streams_make_a_difference(
    written: list[tuple[StreamName, bytes]], clip: OutputLimits, places: list[int]
) -> None:
    whole = joined(written)
    pieces: list[OutputChunk] = []
    for name in STREAMS:
        data = whole[name]
        at = sorted({place % (len(data) + 1) for place in places})
        cut = zip([0, *at], [*at, len(data)], strict=True)
        pieces += [OutputChunk(name, data[a:b]) for a, b in cut]
    apart = [OutputChunk(name, data) for name, data in whole.items()]
    in_turn = [OutputChunk(name, data) for name, data in written]
    assert observed(pieces, clip) == observed(apart, clip) == observed(in_turn, clip)


@holds(WRITTEN, CLIPS, some=300)
def test_what_is_shown_are_the_ends_of_the_whole_and_never_more_than_the_clip(
    written: list[tuple[StreamName, bytes]], clip: OutputLimits
) -> None:
    pieces = [OutputChunk(name, data) for name, data in written]
    for shown, whole in zip(
        parts(observed(pieces, clip)), parts(observed(pieces, WHOLE)), strict=True
    ):
        assert not re.search("[\x00-\x08\x0b\x0d-\x1f\x7f-\x9f]", shown)
        cut = RULE.search(shown)
        if cut is None:
            assert shown == whole
            continue
        head, tail = shown[: cut.start()], shown[cut.end() + 1 :]
        if not whole:  # nothing but white space on stderr, which is not shown unless it is cut
            assert not (head + tail).strip()
            continue
        assert whole.startswith(head.removesuffix("\n"))
        assert whole.endswith(tail)
        assert len(head) + len(tail) <= clip.characters + 2
        assert len((head + tail).splitlines()) <= 2 * clip.lines + 2


@holds(st.lists(st.tuples(BITS, st.sampled_from([0, 0, 0, 1, 1000])), max_size=20), CLIPS, some=300)
def test_what_the_sandbox_did_not_keep_is_always_counted(
    written: list[tuple[bytes, int]], clip: OutputLimits
) -> None:
    pieces = [OutputChunk("stdout", data, skipped=skipped) for data, skipped in written]
    missing = sum(skipped for _, skipped in written)
    shown, _ = parts(observed(pieces, clip))
    said = f"{missing} bytes that the sandbox did not keep"
    assert (said in shown) == bool(missing)
    assert len(shown) <= clip.characters + 400
