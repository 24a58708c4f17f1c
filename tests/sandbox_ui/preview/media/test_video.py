"""The video preview: the browser's player, with seeking in files of any size."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from sandbox_ui.preview.kinds import kind_of
from sandbox_ui.preview.media import video as video_preview
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.rendering import preview_data
from tests.sandbox_ui.preview.served_files import ServedFiles

FILES = Path(__file__).parents[1] / "files"
GIGABYTES = 2 * 1024**3


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("film.mp4", "H.264"), ("film.mov", "H.264"), ("film.webm", "VP9"), ("film.ogv", "Theora"),
    ],
)  # fmt: skip
def test_the_codec_of_a_video_is_detected(name: str, codec: str) -> None:
    assert preview_data(video_preview.view, FILES / name)["codec"] == codec
    assert kind_of(name, (FILES / name).read_bytes()[:4096]) == "video"


def test_a_video_is_detected_by_its_first_bytes() -> None:
    assert kind_of("film", (FILES / "film.mp4").read_bytes()) == "video"
    assert kind_of("film.txt", (FILES / "film.webm").read_bytes()) == "video"
    assert kind_of("a.m4a", (FILES / "tone.m4a").read_bytes()) == "audio"
    assert kind_of("a", (FILES / "tone.m4a").read_bytes()) == "audio"
    assert kind_of("a.webm", (FILES / "tone.ogg").read_bytes()) == "video"


def test_a_video_shows_its_first_frame_and_plays(viewer: FileViewer) -> None:
    names = ("film.mp4", "film.mov", "film.webm")
    for name in names:
        viewer.write(name, (FILES / name).read_bytes())
    viewer.open()
    for name in names:
        video = viewer.show(name).locator("video")
        expect(viewer.details, name).to_contain_text("160 × 90 · 0:03")
        viewer.page.wait_for_function("document.querySelector('video').readyState >= 2")
        assert video.evaluate("video => video.currentTime") == pytest.approx(0.1, abs=0.05)
        assert video.evaluate(COLOURS) > 10
        video.evaluate(
            "video => { video.muted = true; video.playbackRate = 8; return video.play(); }"
        )
        viewer.page.wait_for_function("document.querySelector('video').ended")


COLOURS = """video => {
  const canvas = new OffscreenCanvas(160, 90), pen = canvas.getContext("2d");
  pen.drawImage(video, 0, 0);
  const data = new Uint32Array(pen.getImageData(0, 0, 160, 90).data.buffer);
  return new Set(data).size;
}"""


def test_a_changed_video_keeps_its_position(viewer: FileViewer) -> None:
    content = (FILES / "film.webm").read_bytes()
    video = viewer.view("film.webm", content).locator("video")
    expect(viewer.details).to_contain_text("0:03")
    video.evaluate("video => { video.currentTime = 2; }")
    before = video.get_attribute("src")
    viewer.write("film.webm", content + b"\xec\x83void")
    expect(video).not_to_have_attribute("src", before or "")
    viewer.page.wait_for_function("document.querySelector('video').currentTime === 2")


@pytest.mark.browser
@pytest.mark.nightly
def test_seeking_works_in_a_two_gigabyte_video(served_files: ServedFiles, data: Path) -> None:
    """An MP4 file whose index follows 2 GB of padding."""
    content = (FILES / "film.mp4").read_bytes()
    at = content.index(b"mdat") - 4
    size = int.from_bytes(content[at : at + 4], "big")
    gap = (GIGABYTES + 8).to_bytes(4, "big") + b"free"
    served_files.upload("output/huge.mp4", b"")
    (path,) = data.glob("sandboxes/*/workspace/output/huge.mp4")
    with path.open("wb") as file:
        file.write(content[: at + size] + gap)
        file.seek(GIGABYTES, 1)
        file.write(content[at + size :])
    served_files.show("huge.mp4")
    page = served_files.page
    expect(page.locator(".preview .header")).to_contain_text("160 × 90 · 0:03")
    page.evaluate("document.querySelector('video').currentTime = 2.5")
    page.wait_for_function(
        "(video => !video.seeking && video.readyState >= 2)(document.querySelector('video'))"
    )
