"""The audio preview: playback, the waveform, and files that cannot be played."""

import math
import os
import struct
import wave
from array import array
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from playwright.sync_api import Response, expect

from sandbox_ui.preview.base import PreviewRequest
from sandbox_ui.preview.media import audio
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.rendering import CountingFile, preview_data
from tests.sandbox_ui.preview.served_files import ServedFiles
from tests.support.browser.page_pool import listen

FILES = Path(__file__).parents[1] / "files"


def wav_tone(seconds: float = 2, rate: int = 8000, channels: int = 1) -> bytes:
    """A WAV file with a tone whose first half is silent."""
    count = int(seconds * rate)
    values = [0 if at < count / 2 else int(16384 * math.sin(at / 3)) for at in range(count)]
    return wav_file([each for each in values for _ in range(channels)], rate, channels)


def wav_file(samples: list[int], rate: int, channels: int) -> bytes:
    """A WAV file of 16-bit samples, by channel in turns."""
    buffer = BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((channels, 2, rate, 0, "NONE", ""))
        file.writeframes(array("h", samples).tobytes())
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
    coding: int, bits: int, data: bytes, extensible: bool
) -> None:
    result = preview_data(audio.view, wav(coding, bits, data, extensible=extensible))
    assert result["peaks"] == [pytest.approx(SAMPLE_VALUES, abs=0.01)]
    assert (result["sample_rate"], result["channels"], result["seconds"]) == (1000, 1, 0.004)


def test_streamed_and_non_finite_samples_are_read() -> None:
    for declared_size in (0, 0xFFFFFFFF):
        streamed = preview_data(audio.view, wav(1, 16, bytes(4000), declared_size=declared_size))
        assert (streamed["seconds"], streamed["missing_seconds"]) == (2.0, 0.0)
    endless = struct.pack("<4f", math.nan, math.inf, -math.inf, 9e30)
    (peaks,) = preview_data(audio.view, wav(3, 32, endless))["peaks"]
    assert all(-1 <= each <= 1 for each in peaks)


@pytest.mark.parametrize(("channels", "rows"), [(2, 2), (8, 8), (9, 1)])
def test_each_channel_has_peaks(channels: int, rows: int) -> None:
    """Only the last channel has sound; more than eight channels are merged."""
    content = wav_file([*[0] * (channels - 1), 16384] * 8000, 8000, channels)
    peaks = preview_data(audio.view, content)["peaks"]
    assert [max(each) for each in peaks] == [*[0] * (rows - 1), 0.5]


def test_a_huge_wav_is_sampled(tmp_path: Path) -> None:
    file, size = tmp_path / "huge.wav", 2**31
    head = file.write_bytes(wav(1, 16, b"", declared_size=size))
    os.truncate(file, head + size)
    with CountingFile(file) as opened:
        audio.view(cast(BinaryIO, opened), PreviewRequest("huge.wav", head + size))
        assert 0 < opened.bytes_read < 16 * 1024**2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tone.mp3", {"format": "MP3", "sample_rate": 24000, "channels": 1}),
        (
            "tone.ogg",
            {"format": "Ogg Vorbis", "sample_rate": 24000, "channels": 1, "seconds": 2.0},
        ),
        ("tone.opus", {"format": "Ogg Opus", "sample_rate": 48000, "channels": 1, "seconds": 2.0}),
        ("tone.flac", {"format": "FLAC", "sample_rate": 8000, "channels": 1, "seconds": 1.0}),
        ("tone.m4a", {"format": "AAC in MPEG-4"}),
    ],
)
def test_headers_of_other_formats_are_read(name: str, expected: dict[str, object]) -> None:
    result = preview_data(audio.view, FILES / name)
    assert {key: result[key] for key in expected} == expected


def test_an_ogg_file_lasts_until_its_last_page() -> None:
    content = (FILES / "tone.opus").read_bytes()
    cut = content[: content.rindex(b"OggS") + 8]
    assert 0 < preview_data(audio.view, cut)["seconds"] < 2
    assert "seconds" not in preview_data(audio.view, content[: content.index(b"OpusTags")])


def test_audio_plays_and_its_waveform_is_drawn(viewer: FileViewer) -> None:
    names = ("tone.mp3", "tone.ogg", "tone.opus", "tone.flac", "tone.m4a")
    for name in names:
        viewer.write(name, (FILES / name).read_bytes())
    viewer.open()
    for name in names:
        canvas = viewer.show(name)
        seconds = "0:01" if name == "tone.flac" else "0:02"
        expect(canvas.locator(".time"), name).to_have_text(f"0:00 / {seconds}")
        expect(canvas.locator(".note")).to_be_empty()
        wait_for_waveform(viewer)
        canvas.locator("audio").evaluate("audio => { audio.playbackRate = 8; }")
        canvas.get_by_role("button", name="Play").click()
        expect(canvas.locator(".time"), name).to_have_text(f"{seconds} / {seconds}")


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


def test_clicks_and_keys_seek_and_a_changed_file_keeps_its_position(viewer: FileViewer) -> None:
    canvas = viewer.view("tone.wav", wav_tone(40))
    position = canvas.get_by_role("slider", name="Playback position")
    expect(canvas.locator(".time")).to_have_text("0:00 / 0:40")
    wait_for_waveform(viewer)
    box = position.bounding_box()
    assert box is not None
    position.click(position={"x": box["width"] / 2 + 2, "y": 10})
    expect(position).to_have_attribute("aria-valuetext", "0:20 of 0:40")
    position.press("ArrowLeft")
    expect(position).to_have_attribute("aria-valuetext", "0:15 of 0:40")
    viewer.write("tone.wav", wav_tone(30))
    expect(canvas.locator(".time")).to_have_text("0:15 / 0:30")
    position.press("Home")
    position.press("Space")
    canvas.get_by_role("button", name="Pause").wait_for()
    position.press("Space")
    canvas.get_by_role("button", name="Play").wait_for()


def test_zoom_loop_and_spectrogram(viewer: FileViewer) -> None:
    canvas = viewer.view("tone.wav", wav_tone(4, channels=2))
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
@pytest.mark.nightly
def test_a_long_wav_is_not_fetched_whole(served_files: ServedFiles, data: Path) -> None:
    """It has the server's waveform, and plays through requests of ranges."""
    served_files.upload("output/long.wav", wav_tone(1))
    (file,) = data.rglob("long.wav")
    size = 2 * 3600 * 8000 * 2
    with file.open("r+b") as opened:
        opened.seek(40)
        opened.write(struct.pack("<I", size))
        opened.truncate(44 + size)
    statuses: list[int] = []

    def record(answer: Response) -> None:
        if answer.request.resource_type == "media":
            statuses.append(answer.status)

    listen(served_files.page, "response", record)
    canvas = served_files.show("long.wav")
    expect(canvas.locator(".time")).to_have_text("0:00 / 2:00:00")
    canvas.get_by_role("button", name="Zoom in").click()
    canvas.get_by_role("button", name="Spectrogram").click()
    expect(canvas.locator(".note")).to_contain_text("No spectrogram")
    canvas.get_by_role("slider", name="Playback position").press("End")
    expect(canvas.locator(".time")).to_have_text("2:00:00 / 2:00:00")
    assert set(statuses) == {206}
