"""The audio preview: playback, the waveform, and files that cannot be played."""

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
from tests.sandbox_ui.preview.file_viewer import FileViewer, preview_data

FILES = Path(__file__).parents[1] / "files"


def wav_tone(seconds: float = 2, rate: int = 8000, channels: int = 1) -> bytes:
    """A WAV file with a tone whose first half is silent."""
    count = int(seconds * rate)
    values = [0 if at < count / 2 else int(16384 * math.sin(at / 3)) for at in range(count)]
    buffer = BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(array("h", [each for each in values for _ in range(channels)]).tobytes())
    return buffer.getvalue()


def wav(
    coding: int, bits: int, data: bytes, *, extensible: bool = False, declared_size: int = -1
) -> bytes:
    """A WAV file of one channel at 1,000 samples a second."""
    width = bits // 8
    plain = struct.pack("<HIIHH", 1, 1000, 1000 * width, width, bits)
    format_chunk = struct.pack("<H", 0xFFFE if extensible else coding) + plain
    if extensible:
        format_chunk += struct.pack("<HHIH", 22, bits, 4, coding) + bytes(14)
    chunks = b"LIST\x05\x00\x00\x00notes\x00"
    chunks += b"fmt " + struct.pack("<I", len(format_chunk)) + format_chunk
    chunks += b"data" + struct.pack("<I", len(data) if declared_size < 0 else declared_size) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


SAMPLE_VALUES = [0.0, 0.5, -1.0, 0.25]


@pytest.mark.parametrize("extensible", [False, True])
@pytest.mark.parametrize(
    ("coding", "bits", "data"),
    [
        (1, 8, bytes(int(128 + value * 127) for value in SAMPLE_VALUES)),
        (1, 16, struct.pack("<4h", *(int(value * 32767) for value in SAMPLE_VALUES))),
        (1, 24, b"".join(struct.pack("<i", int(value * 8388607))[:3] for value in SAMPLE_VALUES)),
        (1, 32, struct.pack("<4i", *(int(value * 2147483647) for value in SAMPLE_VALUES))),
        (3, 32, struct.pack("<4f", *SAMPLE_VALUES)),
        (3, 64, struct.pack("<4d", *SAMPLE_VALUES)),
    ],
)
def test_every_wav_encoding_has_the_same_waveform(
    tmp_path: Path, coding: int, bits: int, data: bytes, extensible: bool
) -> None:
    file = tmp_path / "a.wav"
    file.write_bytes(wav(coding, bits, data, extensible=extensible))
    result = preview_data(audio.view, file)
    peaks = result["peaks"]
    assert isinstance(peaks, list)
    for found, wanted in zip(peaks, [0, 0, 0, 64, -127, 0, 0, 32], strict=True):
        assert abs(found - wanted) <= 1
    assert (result["sample_rate"], result["channels"], result["seconds"]) == (1000, 1, 0.004)


def test_non_finite_samples_are_clamped(tmp_path: Path) -> None:
    file = tmp_path / "a.wav"
    file.write_bytes(wav(3, 32, struct.pack("<4f", math.nan, math.inf, -math.inf, 9e30)))
    peaks = preview_data(audio.view, file)["peaks"]
    assert isinstance(peaks, list)
    assert all(-127 <= each <= 127 for each in peaks)


@pytest.mark.parametrize("declared_size", [0, 0xFFFFFFFF])
def test_a_streamed_wav_is_read_to_its_end(tmp_path: Path, declared_size: int) -> None:
    file = tmp_path / "a.wav"
    file.write_bytes(wav(1, 16, bytes(4000), declared_size=declared_size))
    result = preview_data(audio.view, file)
    assert (result["seconds"], result["missing_seconds"]) == (2.0, 0.0)


def test_a_huge_wav_is_sampled(tmp_path: Path) -> None:
    file = tmp_path / "huge.wav"
    size = 2**31
    file.write_bytes(wav(1, 16, b"", declared_size=size))
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size + size)

    with CountingFile(file) as opened:
        audio.view(cast(BinaryIO, opened), PreviewRequest("huge.wav", file.stat().st_size))
        assert 0 < opened.total < 16 * 1024**2


class CountingFile(FileIO):
    """A file that counts the bytes read."""

    total = 0

    def read(self, size: int | None = -1, /) -> bytes:
        got = super().read(-1 if size is None else size) or b""
        self.total += len(got)
        return got


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (wav_tone()[:30], "does not state"),
        (wav_tone()[:20], "does not state"),
        (wav_tone()[:12], "contains no audio"),
        (wav_tone()[:44], "ends after its header"),
        (wav(1, 16, b"")[:-8], "contains no audio"),
    ],
)
def test_a_wav_without_audio_is_reported(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "a.wav"
    file.write_bytes(content)
    with pytest.raises(PreviewError, match=message):
        preview_data(audio.view, file)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tone.mp3", {"format": "MP3", "sample_rate": 24000, "channels": 1}),
        ("tone.ogg", {"format": "Ogg Vorbis", "sample_rate": 24000, "channels": 1}),
        ("tone.opus", {"format": "Ogg Opus", "sample_rate": 48000, "channels": 1}),
        ("tone.flac", {"format": "FLAC", "sample_rate": 8000, "channels": 1, "seconds": 1.0}),
        ("tone.m4a", {"format": "AAC in MPEG-4"}),
    ],
)
def test_headers_of_other_formats_are_read(name: str, expected: dict[str, object]) -> None:
    result = preview_data(audio.view, FILES / name)
    assert {key: result[key] for key in expected} == expected


@pytest.mark.browser
@pytest.mark.parametrize("name", ["tone.mp3", "tone.ogg", "tone.opus", "tone.flac", "tone.m4a"])
def test_audio_plays_and_its_waveform_is_drawn(viewer: FileViewer, name: str) -> None:
    viewer.upload(name, (FILES / name).read_bytes())
    viewer.open()
    canvas = viewer.show(name)
    seconds = "0:01" if name == "tone.flac" else "0:02"
    expect(canvas.locator(".time")).to_have_text(f"0:00 / {seconds}")
    expect(canvas.locator(".note")).to_be_empty()
    wait_for_waveform(viewer)
    canvas.get_by_role("button", name="Play").click()
    expect(canvas.locator(".time")).to_have_text(f"{seconds} / {seconds}")


def wait_for_waveform(viewer: FileViewer) -> None:
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
def test_clicks_and_keys_on_the_waveform_seek(viewer: FileViewer) -> None:
    viewer.upload("tone.wav", wav_tone(40))
    viewer.open()
    canvas = viewer.show("tone.wav")
    position = canvas.get_by_role("slider", name="Playback position")
    expect(canvas.locator(".time")).to_have_text("0:00 / 0:40")
    wait_for_waveform(viewer)
    box = position.bounding_box()
    assert box is not None
    position.click(position={"x": box["width"] / 2 + 2, "y": 10})
    expect(position).to_have_attribute("aria-valuetext", "0:20 of 0:40")
    position.press("ArrowLeft")
    expect(position).to_have_attribute("aria-valuetext", "0:15 of 0:40")
    position.press("Home")
    position.press("Space")
    canvas.get_by_role("button", name="Pause").wait_for()
    position.press("Space")
    canvas.get_by_role("button", name="Play").wait_for()


@pytest.mark.browser
def test_a_changed_audio_file_keeps_its_position(viewer: FileViewer) -> None:
    viewer.upload("tone.wav", wav_tone(20))
    viewer.open()
    canvas = viewer.show("tone.wav")
    position = canvas.get_by_role("slider", name="Playback position")
    expect(canvas.locator(".time")).to_have_text("0:00 / 0:20")
    position.press("ArrowRight")
    viewer.replace("tone.wav", wav_tone(30))
    expect(canvas.locator(".time")).to_have_text("0:05 / 0:30")


@pytest.mark.browser
def test_unplayable_audio_is_reported(viewer: FileViewer) -> None:
    viewer.upload("text.mp3", b"<script>window.hacked = 1</script>" * 20)
    viewer.upload("empty.ogg", b"")
    viewer.upload("cut.wav", wav_tone(2)[:20044])
    viewer.open()
    expect(viewer.show("text.mp3")).to_contain_text("This browser cannot play this audio")
    expect(viewer.canvas.get_by_role("link", name="Download")).to_be_visible()
    expect(viewer.show("empty.ogg")).to_contain_text("empty")
    expect(viewer.show("cut.wav").locator(".note")).to_contain_text("truncated: 0.8 s")
