"""Sounds: they play at once, their shape is seen, and what cannot be played says so."""

import math
import struct
import wave
from array import array
from io import BytesIO, FileIO
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from playwright.sync_api import expect

from sandbox_ui.preview.base import PreviewError, PreviewRequest
from sandbox_ui.preview.media import audio
from tests.sandbox_ui.preview.file_viewer import FileViewer, data_of

FILES = Path(__file__).parents[1] / "files"


def tone(seconds: float = 2, rate: int = 8000, channels: int = 1) -> bytes:
    """A wav of a tone that is silent in its first half."""
    count = int(seconds * rate)
    values = [0 if at < count / 2 else int(16384 * math.sin(at / 3)) for at in range(count)]
    held = BytesIO()
    with wave.open(held, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(array("h", [each for each in values for _ in range(channels)]).tobytes())
    return held.getvalue()


def wav(
    coding: int, bits: int, data: bytes, *, extensible: bool = False, promised: int = -1
) -> bytes:
    """A wav of one channel at 1,000 values a second."""
    width = bits // 8
    plain = struct.pack("<HIIHH", 1, 1000, 1000 * width, width, bits)
    said = struct.pack("<H", 0xFFFE if extensible else coding) + plain
    if extensible:
        said += struct.pack("<HHIH", 22, bits, 4, coding) + bytes(14)
    chunks = b"LIST\x05\x00\x00\x00notes\x00"
    chunks += b"fmt " + struct.pack("<I", len(said)) + said
    chunks += b"data" + struct.pack("<I", len(data) if promised < 0 else promised) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


HALVES = [0.0, 0.5, -1.0, 0.25]


@pytest.mark.parametrize("extensible", [False, True])
@pytest.mark.parametrize(
    ("coding", "bits", "data"),
    [
        (1, 8, bytes(int(128 + value * 127) for value in HALVES)),
        (1, 16, struct.pack("<4h", *(int(value * 32767) for value in HALVES))),
        (1, 24, b"".join(struct.pack("<i", int(value * 8388607))[:3] for value in HALVES)),
        (1, 32, struct.pack("<4i", *(int(value * 2147483647) for value in HALVES))),
        (3, 32, struct.pack("<4f", *HALVES)),
        (3, 64, struct.pack("<4d", *HALVES)),
    ],
)
def test_every_way_of_writing_a_wav_has_the_same_shape(
    tmp_path: Path, coding: int, bits: int, data: bytes, extensible: bool
) -> None:
    file = tmp_path / "a.wav"
    file.write_bytes(wav(coding, bits, data, extensible=extensible))
    seen = data_of(audio.view, file)
    peaks = seen["peaks"]
    assert isinstance(peaks, list)
    for found, wanted in zip(peaks, [0, 0, 0, 64, -127, 0, 0, 32], strict=True):
        assert abs(found - wanted) <= 1
    assert (seen["rate"], seen["channels"], seen["seconds"]) == (1000, 1, 0.004)


def test_numbers_that_are_none_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "a.wav"
    file.write_bytes(wav(3, 32, struct.pack("<4f", math.nan, math.inf, -math.inf, 9e30)))
    peaks = data_of(audio.view, file)["peaks"]
    assert isinstance(peaks, list)
    assert all(-127 <= each <= 127 for each in peaks)


@pytest.mark.parametrize("promised", [0, 0xFFFFFFFF])
def test_a_sound_that_was_written_as_it_came_is_read_to_its_end(
    tmp_path: Path, promised: int
) -> None:
    file = tmp_path / "a.wav"
    file.write_bytes(wav(1, 16, bytes(4000), promised=promised))
    seen = data_of(audio.view, file)
    assert (seen["seconds"], seen["missing"]) == (2.0, 0.0)


def test_a_huge_wav_is_looked_at_in_a_few_places(tmp_path: Path) -> None:
    file = tmp_path / "huge.wav"
    size = 2**31
    file.write_bytes(wav(1, 16, b"", promised=size))
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size + size)

    with Counting(file) as opened:
        audio.view(cast(BinaryIO, opened), PreviewRequest("huge.wav", file.stat().st_size))
        assert 0 < opened.total < 16 * 1024**2


class Counting(FileIO):
    """A file that knows how much was read of it."""

    total = 0

    def read(self, size: int | None = -1, /) -> bytes:
        got = super().read(-1 if size is None else size) or b""
        self.total += len(got)
        return got


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (tone()[:30], "does not state"),
        (tone()[:20], "does not state"),
        (tone()[:12], "contains no audio"),
        (tone()[:44], "ends after its header"),
        (wav(1, 16, b"")[:-8], "contains no audio"),
    ],
)
def test_a_wav_without_a_sound_says_so(tmp_path: Path, content: bytes, why: str) -> None:
    file = tmp_path / "a.wav"
    file.write_bytes(content)
    with pytest.raises(PreviewError, match=why):
        data_of(audio.view, file)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tone.mp3", {"format": "MP3", "rate": 24000, "channels": 1}),
        ("tone.ogg", {"format": "Ogg Vorbis", "rate": 24000, "channels": 1}),
        ("tone.opus", {"format": "Ogg Opus", "rate": 48000, "channels": 1}),
        ("tone.flac", {"format": "FLAC", "rate": 8000, "channels": 1, "seconds": 1.0}),
        ("tone.m4a", {"format": "AAC in MPEG-4"}),
    ],
)
def test_the_headers_of_others_are_read(name: str, said: dict[str, object]) -> None:
    seen = data_of(audio.view, FILES / name)
    assert {key: seen[key] for key in said} == said


@pytest.mark.browser
@pytest.mark.parametrize("name", ["tone.mp3", "tone.ogg", "tone.opus", "tone.flac", "tone.m4a"])
def test_a_sound_plays_and_its_shape_is_drawn(viewer: FileViewer, name: str) -> None:
    viewer.upload(name, (FILES / name).read_bytes())
    viewer.open()
    canvas = viewer.show(name)
    seconds = "0:01" if name == "tone.flac" else "0:02"
    expect(canvas.locator(".time")).to_have_text(f"0:00 / {seconds}")
    expect(canvas.locator(".note")).to_be_empty()
    drawn(viewer)
    canvas.get_by_role("button", name="Play").click()
    expect(canvas.locator(".time")).to_have_text(f"{seconds} / {seconds}")


def drawn(viewer: FileViewer) -> None:
    """Wait until the waveform is more than its playhead."""
    viewer.page.wait_for_function(
        """() => {
          const canvas = document.querySelector(".waveform canvas");
          const { width, height } = canvas;
          const row = canvas.getContext("2d").getImageData(0, Math.round(height * 0.46), width, 1);
          return row.data.filter((value, at) => at % 4 === 3 && value > 0).length > 20;
        }"""
    )


@pytest.mark.browser
def test_a_click_on_the_shape_and_keys_go_to_a_place(viewer: FileViewer) -> None:
    viewer.upload("tone.wav", tone(40))
    viewer.open()
    canvas = viewer.show("tone.wav")
    place = canvas.get_by_role("slider", name="Playback position")
    expect(canvas.locator(".time")).to_have_text("0:00 / 0:40")
    drawn(viewer)
    box = place.bounding_box()
    assert box is not None
    place.click(position={"x": box["width"] / 2 + 2, "y": 10})
    expect(place).to_have_attribute("aria-valuetext", "0:20 of 0:40")
    place.press("ArrowLeft")
    expect(place).to_have_attribute("aria-valuetext", "0:15 of 0:40")
    place.press("Home")
    place.press("Space")
    canvas.get_by_role("button", name="Pause").wait_for()
    place.press("Space")
    canvas.get_by_role("button", name="Play").wait_for()


@pytest.mark.browser
def test_a_sound_that_grows_stays_where_it_was(viewer: FileViewer) -> None:
    viewer.upload("tone.wav", tone(20))
    viewer.open()
    canvas = viewer.show("tone.wav")
    place = canvas.get_by_role("slider", name="Playback position")
    expect(canvas.locator(".time")).to_have_text("0:00 / 0:20")
    place.press("ArrowRight")
    viewer.replace("tone.wav", tone(30))
    expect(canvas.locator(".time")).to_have_text("0:05 / 0:30")


@pytest.mark.browser
def test_what_cannot_be_played_says_so(viewer: FileViewer) -> None:
    viewer.upload("text.mp3", b"<script>window.hacked = 1</script>" * 20)
    viewer.upload("empty.ogg", b"")
    viewer.upload("cut.wav", tone(2)[:20044])
    viewer.open()
    expect(viewer.show("text.mp3")).to_contain_text("This browser cannot play this audio")
    expect(viewer.canvas.get_by_role("link", name="Download")).to_be_visible()
    expect(viewer.show("empty.ogg")).to_contain_text("empty")
    expect(viewer.show("cut.wav").locator(".note")).to_contain_text("truncated: 0.8 s")
