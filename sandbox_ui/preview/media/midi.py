"""MIDI files: notes for drawing and playing a piano roll, within limits on size and time."""

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from sandbox_ui.preview.base import Preview, PreviewError, PreviewRequest

MAX_EVENTS = 1_000_000
MAX_NOTES = 30_000
MAX_TRACKS = 64
READING_TIMEOUT_SECONDS = 4.0
MAX_DURATION_SECONDS = 6 * 3600.0
_DEFAULT_TEMPO = 500_000
_DRUM_CHANNEL = 9
_EVENTS_PER_TIME_CHECK = 4096
_MAX_READ_BYTES = 16 * 1024**2
_FAMILIES = (
    "Piano", "Chimes", "Organ", "Guitar", "Bass", "Strings", "Ensemble", "Brass", "Reed", "Pipe",
    "Synth lead", "Synth pad", "Synth effects", "World", "Percussion", "Sound effects",
)  # fmt: skip
_COLUMNS = ("start", "end", "pitch", "velocity", "track", "channel", "program")


@dataclass(slots=True)
class _Track:
    """Metadata of one track."""

    name: str = ""
    program: int = -1
    channels: set[int] = field(default_factory=set)
    note_count: int = 0


@dataclass(slots=True)
class _Score:
    """Content read from a MIDI file."""

    tracks: list[_Track] = field(default_factory=list)
    notes: list[tuple[int, ...]] = field(default_factory=list)  # _COLUMNS, with times in ticks
    tempos: list[tuple[int, int]] = field(default_factory=list)  # tick, microseconds per beat
    stop_reason: str = ""  # why reading stopped early
    event_count: int = 0


class _TruncatedData(Exception):
    """The content ends within an event."""


def _read_score(content: bytes) -> _Score:
    """Read the tracks and notes of a possibly truncated file."""
    score, end = _Score(), time.monotonic() + READING_TIMEOUT_SECONDS
    for at, size in _chunks(content, 8 + int.from_bytes(content[4:8], "big")):
        if len(score.tracks) >= MAX_TRACKS:
            score.stop_reason = f"only its first {MAX_TRACKS} tracks were read"
            break
        if at + size > len(content):
            score.stop_reason = "the file is truncated"
        try:
            _TrackReader(content, at, min(at + size, len(content)), score).read(end)
        except _TruncatedData:
            score.stop_reason = score.stop_reason or "the file is truncated"
        if (
            len(score.notes) >= MAX_NOTES
            or score.event_count >= MAX_EVENTS
            or time.monotonic() > end
        ):
            score.stop_reason = f"only its first {len(score.notes):,} notes were read"
            break
    score.notes.sort()
    score.tempos.sort()
    return score


def _chunks(content: bytes, at: int) -> Iterator[tuple[int, int]]:
    while at + 8 <= len(content):
        size = int.from_bytes(content[at + 4 : at + 8], "big")
        if content[at : at + 4] == b"MTrk":
            yield at + 8, size
        at += 8 + size


class _TrackReader:
    """Reader of one track."""

    def __init__(self, content: bytes, at: int, end: int, score: _Score) -> None:
        self._content, self._at, self._end, self._score = content, at, end, score
        self._track, self._number = _Track(), len(score.tracks)
        self._tick = self._status = 0
        self._programs = [0] * 16
        self._open: dict[tuple[int, int], deque[tuple[int, int]]] = {}
        score.tracks.append(self._track)

    def read(self, deadline: float) -> None:
        """Read all events until a limit or the deadline is reached."""
        score = self._score
        try:
            while self._at < self._end:
                score.event_count += 1
                late = (
                    score.event_count % _EVENTS_PER_TIME_CHECK == 0 and time.monotonic() > deadline
                )
                if late or score.event_count >= MAX_EVENTS or len(score.notes) >= MAX_NOTES:
                    return
                self._tick += self._read_variable_length()
                self._read_event()
        finally:
            for (channel, pitch), begun in self._open.items():
                for start, velocity in begun:
                    self._add_note(start, self._tick, pitch, velocity, channel)

    def _read_event(self) -> None:
        first = self._read_byte()
        if first < 0x80:
            if not self._status:
                raise _TruncatedData
            self._at -= 1
        elif first < 0xF0:
            self._status = first
        elif first == 0xFF:
            self._handle_meta(self._read_byte(), self._read_bytes(self._read_variable_length()))
            return
        else:
            self._read_bytes(self._read_variable_length())
            return
        kind, channel = self._status & 0xF0, self._status & 0x0F
        value = self._read_byte() & 0x7F
        if kind == 0xC0:
            self._programs[channel] = value
            self._track.program = value if self._track.program < 0 else self._track.program
        elif kind != 0xD0:
            second = self._read_byte() & 0x7F
            if kind == 0x90 and second:
                self._open.setdefault((channel, value), deque()).append((self._tick, second))
            elif kind in (0x80, 0x90) and (begun := self._open.get((channel, value))):
                self._add_note(begun[0][0], self._tick, value, begun.popleft()[1], channel)

    def _handle_meta(self, kind: int, content: bytes) -> None:
        if kind == 0x51 and len(content) == 3 and len(self._score.tempos) < MAX_NOTES:
            self._score.tempos.append(
                (self._tick, int.from_bytes(content, "big") or _DEFAULT_TEMPO)
            )
        elif kind in (3, 4) and not self._track.name:
            self._track.name = content[:80].decode("utf-8", "replace").strip()
        elif kind == 0x2F:
            self._at = self._end

    def _add_note(self, start: int, end: int, pitch: int, velocity: int, channel: int) -> None:
        if len(self._score.notes) < MAX_NOTES:
            program = 128 if channel == _DRUM_CHANNEL else self._programs[channel]
            self._track.note_count += 1
            self._track.channels.add(channel)
            self._score.notes.append((start, end, pitch, velocity, self._number, channel, program))

    def _read_byte(self) -> int:
        if self._at >= self._end:
            raise _TruncatedData
        self._at += 1
        return self._content[self._at - 1]

    def _read_bytes(self, count: int) -> bytes:
        if self._at + count > self._end:
            raise _TruncatedData
        self._at += count
        return self._content[self._at - count : self._at]

    def _read_variable_length(self) -> int:
        value = 0
        for _ in range(4):
            byte = self._read_byte()
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                break
        return value


class _TickConverter:
    """Converter from ticks to seconds, by the header's time division and the score's tempos."""

    def __init__(self, division: int, tempos: list[tuple[int, int]]) -> None:
        frames = 256 - (division >> 8) if division & 0x8000 else 0
        per = division & 0xFF if frames else division
        self._fixed = 1 / (frames * per) if frames and per else 0.0
        self._beat = max(1, division)
        self._ticks, self._seconds, self._tempos = [0], [0.0], [_DEFAULT_TEMPO]
        for tick, tempo in tempos:
            self._seconds.append(self(tick))
            self._ticks.append(tick)
            self._tempos.append(tempo)

    def __call__(self, tick: int) -> float:
        """Return the time of a tick in seconds from the start."""
        if self._fixed:
            return tick * self._fixed
        at = bisect_right(self._ticks, tick) - 1
        passed = (tick - self._ticks[at]) * self._tempos[at] / self._beat / 1e6
        return self._seconds[at] + passed


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return ``tracks``, and ``notes`` as columns; times are in seconds, program 128 is drums."""
    content = file.read(_MAX_READ_BYTES)
    if not content.startswith(b"MThd") or len(content) < 14:
        raise PreviewError("This is not a MIDI file, or it ends before its first track.")
    score = _read_score(content)
    if request.size > _MAX_READ_BYTES and not score.stop_reason:
        score.stop_reason = "only its first 16 MB were read"
    to_seconds = _TickConverter(int.from_bytes(content[12:14], "big"), score.tempos)
    return {**_music(score, to_seconds), "stop_reason": score.stop_reason}


def _music(score: _Score, to_seconds: _TickConverter) -> dict[str, Any]:
    rows: list[tuple[float, ...]] = []
    for start, end, *others in score.notes:
        begins, ends = to_seconds(start), to_seconds(end)
        if begins > MAX_DURATION_SECONDS:
            score.stop_reason = score.stop_reason or "everything after six hours is left out"
            break
        rows.append((round(begins, 4), round(min(ends, MAX_DURATION_SECONDS), 4), *others))
    columns = [list(each) for each in zip(*rows, strict=True)] or [[] for _ in _COLUMNS]
    return {
        "seconds": max(columns[1], default=0.0),
        "tempo": round(60e6 / score.tempos[0][1]) if score.tempos else 120,
        "notes": dict(zip(_COLUMNS, columns, strict=True)),
        "tracks": [_track(each) for each in score.tracks],
    }


def _track(track: _Track) -> dict[str, Any]:
    drums = track.channels == {_DRUM_CHANNEL}
    instrument = "Drums" if drums else _FAMILIES[max(0, track.program) // 8]
    return {
        "name": track.name,
        "instrument": instrument if track.note_count else "",
        "note_count": track.note_count,
    }
