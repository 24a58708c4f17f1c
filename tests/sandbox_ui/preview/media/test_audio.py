"""The audio preview: playback, the waveform, and files that cannot be played."""

import math
import struct
import wave
from array import array
from io import BytesIO, FileIO
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from playwright.sync_api import Response, expect

from sandbox_ui.preview.base import PreviewError, PreviewRequest
from sandbox_ui.preview.media import audio
from tests.sandbox_ui.preview.file_viewer import FileViewer, preview_data
from tests.support.browser.page_pool import listen

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
    assert peaks == [pytest.approx(SAMPLE_VALUES, abs=0.01)]
    assert (result["sample_rate"], result["channels"], result["seconds"]) == (1000, 1, 0.004)


def test_non_finite_samples_are_clamped(tmp_path: Path) -> None:
    file = tmp_path / "a.wav"
    file.write_bytes(wav(3, 32, struct.pack("<4f", math.nan, math.inf, -math.inf, 9e30)))
    peaks = preview_data(audio.view, file)["peaks"]
    assert isinstance(peaks, list)
    assert all(-1 <= each <= 1 for each in peaks[0])


@pytest.mark.parametrize(("channels", "rows"), [(2, 2), (8, 8), (9, 1)])
def test_each_channel_has_peaks(tmp_path: Path, channels: int, rows: int) -> None:
    """Only the last channel has sound; more than eight channels are merged."""
    file = tmp_path / "a.wav"
    with wave.open(str(file), "wb") as opened:
        opened.setnchannels(channels)
        opened.setsampwidth(2)
        opened.setframerate(8000)
        opened.writeframes(array("h", [*[0] * (channels - 1), 16384] * 8000).tobytes())
    peaks = preview_data(audio.view, file)["peaks"]
    assert isinstance(peaks, list)
    assert [max(each) for each in peaks] == [*[0] * (rows - 1), 0.5]


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
          const shadow = document.querySelector(".waveform > div")?.shadowRoot;
          const canvas = shadow?.querySelector(".canvases canvas");
          if (!canvas) return false;
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
def test_zoom_loop_and_spectrogram(viewer: FileViewer) -> None:
    viewer.upload("tone.wav", wav_tone(4, channels=2))
    viewer.open()
    canvas = viewer.show("tone.wav")
    wait_for_waveform(viewer)
    width = canvas.locator("[part=wrapper]").evaluate("(wrapper) => wrapper.clientWidth")
    canvas.get_by_role("button", name="Zoom in").click()
    viewer.page.wait_for_function(
        """(width) => document.querySelector(".waveform > div").shadowRoot
            .querySelector(".wrapper").clientWidth > width""",
        arg=width,
    )
    canvas.get_by_role("button", name="Zoom out").click()
    canvas.get_by_role("button", name="Spectrogram").click()
    viewer.page.wait_for_function(HAS_COLOURS)
    position = canvas.get_by_role("slider", name="Playback position")
    position.press("End")
    canvas.get_by_role("button", name="Loop").click()
    expect(canvas.locator("[part~=region]")).to_have_count(1)
    canvas.locator("audio").evaluate(
        "(audio) => audio.onseeking = () => audio.loops = 1 + (audio.loops ?? 0)"
    )
    canvas.get_by_role("button", name="Play").click()
    viewer.page.wait_for_function("document.querySelector('.canvas audio').loops > 2")
    canvas.get_by_role("button", name="Loop").click()
    expect(canvas.locator("[part~=region]")).to_have_count(0)
    canvas.get_by_role("button", name="Play").wait_for()


HAS_COLOURS = """() => {
  const { shadowRoot } = document.querySelector(".waveform > div");
  return [...shadowRoot.querySelectorAll("canvas")].some((canvas) => {
    const { width, height } = canvas;
    if (!width || !height) return false;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    return new Set(new Uint32Array(data.buffer)).size > 50;
  });
}"""


@pytest.mark.browser
def test_a_long_wav_is_not_fetched_whole(viewer: FileViewer, data: Path) -> None:
    """It has the server's waveform, and plays through requests of ranges."""
    viewer.upload("long.wav", wav_tone(1))
    (file,) = data.rglob("long.wav")
    size = 2 * 3600 * 8000 * 2
    with file.open("r+b") as opened:
        opened.seek(40)
        opened.write(struct.pack("<I", size))
        opened.truncate(44 + size)
    viewer.open()
    statuses: list[int] = []

    def record(answer: Response) -> None:
        if answer.request.resource_type == "media":
            statuses.append(answer.status)

    listen(viewer.page, "response", record)
    canvas = viewer.show("long.wav")
    expect(canvas.locator(".time")).to_have_text("0:00 / 2:00:00")
    canvas.get_by_role("button", name="Zoom in").click()
    canvas.get_by_role("button", name="Spectrogram").click()
    expect(canvas.locator(".note")).to_contain_text("No spectrogram")
    canvas.get_by_role("slider", name="Playback position").press("End")
    expect(canvas.locator(".time")).to_have_text("2:00:00 / 2:00:00")
    assert set(statuses) == {206}


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
