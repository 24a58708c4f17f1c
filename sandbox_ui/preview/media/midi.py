"""MIDI files: notes for drawing and playing a piano roll."""

from typing import Any, BinaryIO

from sandbox_ui.preview.base import JsonPreview, PreviewError, PreviewRequest
from sandbox_ui.preview.media.midi_reader import (
    MAX_DURATION_SECONDS,
    MidiScore,
    TickConverter,
    Track,
    read_score,
)

_MAX_READ_BYTES = 16 * 1024**2
_FAMILIES = (
    "Piano", "Chimes", "Organ", "Guitar", "Bass", "Strings", "Ensemble", "Brass", "Reed", "Pipe",
    "Synth lead", "Synth pad", "Synth effects", "World", "Percussion", "Sound effects",
)  # fmt: skip
_DRUM_CHANNEL = 9


def view(file: BinaryIO, request: PreviewRequest) -> JsonPreview:
    """Return ``tracks`` and ``notes``, with times in seconds.

    ``notes`` holds columns of equal length: ``start``, ``end``, ``pitch``, ``velocity``,
    ``track``, ``channel`` and ``program`` (128: drums). ``stop_reason`` says why reading stopped.
    """
    if not request.size:
        raise PreviewError("This file is empty.")
    content = file.read(_MAX_READ_BYTES)
    if not content.startswith(b"MThd") or len(content) < 14:
        raise PreviewError("This is not a MIDI file, or it ends before its first track.")
    score = read_score(content)
    if request.size > _MAX_READ_BYTES and not score.stop_reason:
        score.stop_reason = "only its first 16 MB were read"
    to_seconds = TickConverter(int.from_bytes(content[12:14], "big"), score.tempos)
    return JsonPreview({**_music(score, to_seconds), "stop_reason": score.stop_reason})


def _music(score: MidiScore, to_seconds: TickConverter) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {
        name: [] for name in ("start", "end", "pitch", "velocity", "track", "channel", "program")
    }
    for start, end, pitch, velocity, track, channel, program in score.notes:
        begins, ends = to_seconds(start), to_seconds(end)
        if begins > MAX_DURATION_SECONDS:
            score.stop_reason = score.stop_reason or "everything after six hours is left out"
            break
        row = (
            round(begins, 4),
            round(min(ends, MAX_DURATION_SECONDS), 4),
            pitch,
            velocity,
            track,
            channel,
            program,
        )
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    return {
        "seconds": max(columns["end"], default=0.0),
        "tempo": round(60e6 / score.tempos[0][1]) if score.tempos else 120,
        "notes": columns,
        "tracks": [_track(each) for each in score.tracks],
    }


def _track(track: Track) -> dict[str, Any]:
    drums = track.channels == {_DRUM_CHANNEL}
    instrument = "Drums" if drums else _FAMILIES[max(0, track.program) // 8]
    return {
        "name": track.name,
        "instrument": instrument if track.note_count else "",
        "note_count": track.note_count,
    }
