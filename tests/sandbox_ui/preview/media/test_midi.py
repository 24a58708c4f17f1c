"""The MIDI preview: bounded parsing, the piano roll, and playback."""

import io

import mido
import pytest
from playwright.sync_api import expect

from sandbox_ui.preview.media import midi
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.rendering import preview_data

Messages = list[tuple[int, str, dict[str, object]]]


def midi_file(*tracks: Messages, ticks: int = 480) -> bytes:
    """A MIDI file of tracks of ``(ticks before it, type, values)``."""
    file = mido.MidiFile(ticks_per_beat=ticks)
    for messages in tracks:
        track = mido.MidiTrack()
        for time, kind, values in messages:
            meta = kind in ("set_tempo", "track_name")
            message_type = mido.MetaMessage if meta else mido.Message
            track.append(message_type(kind, time=time, **values))
        file.tracks.append(track)
    buffer = io.BytesIO()
    file.save(file=buffer)
    return buffer.getvalue()


def ascending_notes(count: int = 4, channel: int = 0) -> Messages:
    """Notes of one beat each, ascending from middle C."""
    messages: Messages = []
    for at in range(count):
        messages.append((0, "note_on", {"note": 60 + at, "velocity": 80, "channel": channel}))
        messages.append((480, "note_off", {"note": 60 + at, "channel": channel}))
    return messages


def test_notes_have_times_in_seconds_by_the_tempo_changes() -> None:
    tempos: Messages = [
        (0, "set_tempo", {"tempo": 1_000_000}),
        (960, "set_tempo", {"tempo": 500_000}),
    ]
    found = preview_data(midi.view, midi_file(tempos, ascending_notes()))
    columns = found["notes"]
    assert columns["start"] == [0, 1, 2, 2.5]
    assert columns["end"] == [1, 2, 2.5, 3]
    assert columns["pitch"] == [60, 61, 62, 63]
    assert (found["seconds"], found["tempo"], found["stop_reason"]) == (3, 60, "")


def test_tracks_have_names_and_instruments() -> None:
    track: Messages = [
        (0, "track_name", {"name": "Low <b>"}), (0, "program_change", {"program": 42}),
        *ascending_notes(),
    ]  # fmt: skip
    found = preview_data(midi.view, midi_file(track, ascending_notes(channel=9), []))
    assert found["tracks"] == [
        {"name": "Low <b>", "instrument": "Strings", "note_count": 4},
        {"name": "", "instrument": "Drums", "note_count": 4},
        {"name": "", "instrument": "", "note_count": 0},
    ]
    columns = found["notes"]
    assert set(zip(columns["channel"], columns["program"], strict=True)) == {(0, 42), (9, 128)}


def test_parsing_matches_the_mido_library() -> None:
    """Running status, overlapping notes, note-on with velocity 0, and system messages."""
    body = bytes.fromhex(
        "00903c40 10403c 203c00 00f0037e7ff7 00904000 00b00740 00e00040 00c105 00d033 00ff2f00"
    )
    content = midi_file([])[:14] + track_of(body)
    library_types = [message.type for message in mido.MidiFile(file=io.BytesIO(content)).tracks[0]]
    assert library_types.count("note_on") == 4
    columns = preview_data(midi.view, content)["notes"]
    assert list(zip(columns["pitch"], columns["velocity"], strict=True)) == [(60, 64), (64, 60)]


@pytest.mark.parametrize("cut", [15, 21, 30, 45, 60])
def test_a_truncated_file_is_read_partially(cut: int) -> None:
    found = preview_data(midi.view, midi_file(ascending_notes(12))[:cut])
    if cut >= 22:
        assert found["stop_reason"] == "the file is truncated"


def track_of(body: bytes) -> bytes:
    """A track of these bytes."""
    return b"MTrk" + len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (bytes.fromhex("00903c40013c00") * 2_000_000, "only its first 30,000 notes were read"),
        (bytes.fromhex("00903c40") * 200_000 + bytes.fromhex("00803c40") * 200_000, ""),
    ],
    ids=["notes", "overlapping notes"],
)
def test_notes_over_the_limit_are_omitted_and_reported(body: bytes, reason: str) -> None:
    found = preview_data(midi.view, midi_file([])[:14] + track_of(body))
    assert len(found["notes"]["start"]) == midi.MAX_NOTES
    assert reason in found["stop_reason"]


@pytest.mark.parametrize("ticks", [0, 1, 0xFFFF, 0xE728, 0x8000])
def test_unusual_time_divisions_have_a_limited_duration(ticks: int) -> None:
    body = bytes.fromhex("00903c40 ffffff7f 3c00") * 50
    head = b"MThd\0\0\0\6\0\1\0\1" + ticks.to_bytes(2, "big")
    found = preview_data(midi.view, head + track_of(body))
    assert found["seconds"] <= midi.MAX_DURATION_SECONDS


def test_a_midi_file_is_drawn_and_plays(viewer: FileViewer) -> None:
    track: Messages = [(0, "track_name", {"name": "<img src=x onerror='window.hacked=1'>"})]
    canvas = viewer.view(
        "tune.mid", midi_file([*track, *ascending_notes(6)], ascending_notes(4, channel=9))
    )
    expect(canvas.locator(".time")).to_have_text("0:00 / 0:03")
    expect(viewer.preview.locator(".header")).to_contain_text("10 notes · 2 tracks")
    viewer.page.wait_for_function(PAINTED)
    canvas.get_by_role("button", name="Drums").click()
    expect(canvas.get_by_role("button", name="Drums")).to_have_attribute("aria-pressed", "false")
    canvas.get_by_role("button", name="Play").click()
    expect(canvas.locator(".time")).to_have_text("0:03 / 0:03")
    canvas.get_by_role("button", name="Play").wait_for()


PAINTED = """() => {
  const canvas = document.querySelector(".roll canvas");
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  return new Set(new Uint32Array(data.buffer)).size > 8;
}"""


def test_the_position_is_set_by_click_and_key_and_kept_when_the_file_changes(
    viewer: FileViewer,
) -> None:
    canvas = viewer.view("tune.mid", midi_file(ascending_notes(40)))
    position = canvas.get_by_role("slider", name="Playback position")
    position.press("ArrowRight")
    expect(position).to_have_attribute("aria-valuetext", "0:05 of 0:20")
    canvas.get_by_role("button", name="Zoom in").click()
    position.press("Home")
    position.click(position={"x": 300, "y": 40})
    expect(position).not_to_have_attribute("aria-valuenow", "0.0")
    position.press("Home")
    position.press("ArrowRight")
    viewer.write("tune.mid", midi_file(ascending_notes(60)))
    expect(position).to_have_attribute("aria-valuetext", "0:05 of 0:30")


def test_notes_sound_at_their_pitch(viewer: FileViewer) -> None:
    """Each note is heard at its frequency, and silence follows."""
    canvas = viewer.view("tune.mid", midi_file(ascending_notes()))
    canvas.get_by_role("button", name="Play").click()  # the browser allows sound after a click
    expect(canvas.locator(".time")).to_have_text("0:02 / 0:02")
    heard = viewer.page.evaluate(LISTEN, [57, 69, 81])
    assert heard["frequencies"] == pytest.approx([220, 440, 880], rel=0.03)
    assert heard["loudness_after"] < -90


def test_a_missing_synthesizer_is_reported(viewer: FileViewer) -> None:
    viewer.remove("synthesizer.js")
    canvas = viewer.view("tune.mid", midi_file(ascending_notes()))
    canvas.get_by_role("button", name="Play").click()
    expect(canvas.locator(".note")).to_contain_text("make vendor")


# Frequencies in Hz; the loudest in dB after the sound was stopped.
LISTEN = """async (pitches) => {
  const { createSynth } = await import("/ui/preview/media/synth.js");
  const synth = await createSynth();
  const analyser = new AnalyserNode(synth.context, { fftSize: 8192, smoothingTimeConstant: 0 });
  synth.output.connect(analyser);
  const bins = new Float32Array(analyser.frequencyBinCount);
  const wait = async (done) => {
    do {
      await new Promise((resolve) => setTimeout(resolve, 20));
      analyser.getFloatFrequencyData(bins);
    } while (!done());
  };
  const loudest = () => Math.max(...bins);
  const frequencies = [];
  for (const pitch of pitches) {
    const begins = synth.start(0.8);
    synth.play({ channel: 0, program: 73, pitch, velocity: 100 }, begins, 20);
    await wait(() => synth.now > begins + 0.6 && loudest() > -60);
    frequencies.push((bins.indexOf(loudest()) * synth.context.sampleRate) / analyser.fftSize);
    synth.silence();
  }
  const stopped = synth.now;
  await wait(() => synth.now > stopped + 0.5);
  synth.close();
  return { frequencies, loudness_after: Math.max(-999, loudest()) };
}"""
