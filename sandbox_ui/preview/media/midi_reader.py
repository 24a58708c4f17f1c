"""Reader of MIDI notes, with limits on events, notes, tracks and time."""

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

EVENTS = 1_000_000
NOTES = 30_000
TRACKS = 64
SECONDS = 4.0
LONGEST = 6 * 3600.0
_TEMPO = 500_000
_DRUMS = 9
_LOOK = 4096


@dataclass(slots=True)
class Track:
    """Metadata of one track."""

    name: str = ""
    program: int = -1
    channels: set[int] = field(default_factory=set)
    count: int = 0


@dataclass(slots=True)
class Score:
    """Content read from a MIDI file.

    Attributes:
        tracks: At most 64 tracks.
        notes: Start and end in ticks, pitch, velocity, track, program (128: drums).
        tempos: Ticks and the microseconds per beat from there on.
        left: Why reading stopped early; empty if the whole file was read.
    """

    tracks: list[Track] = field(default_factory=list)
    notes: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    tempos: list[tuple[int, int]] = field(default_factory=list)
    left: str = ""
    events: int = 0


class _Cut(Exception):
    """The content ends within an event."""


def read_score(content: bytes) -> Score:
    """Read the tracks and notes of a possibly truncated file."""
    score, end = Score(), time.monotonic() + SECONDS
    for at, size in _chunks(content, 8 + int.from_bytes(content[4:8], "big")):
        if len(score.tracks) >= TRACKS:
            score.left = f"only its first {TRACKS} tracks were read"
            break
        if at + size > len(content):
            score.left = "it is cut off"
        try:
            _Reader(content, at, min(at + size, len(content)), score).read(end)
        except _Cut:
            score.left = score.left or "it is cut off"
        if len(score.notes) >= NOTES or score.events >= EVENTS or time.monotonic() > end:
            score.left = f"only its first {len(score.notes):,} notes were read"
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


class _Reader:
    """Reader of one track."""

    def __init__(self, content: bytes, at: int, end: int, score: Score) -> None:
        self._content, self._at, self._end, self._score = content, at, end, score
        self._track, self._number = Track(), len(score.tracks)
        self._tick = self._status = 0
        self._programs = [0] * 16
        self._open: dict[tuple[int, int], deque[tuple[int, int]]] = {}
        score.tracks.append(self._track)

    def read(self, until: float) -> None:
        """Read all events until a limit or the deadline is reached."""
        score = self._score
        try:
            while self._at < self._end:
                score.events += 1
                late = score.events % _LOOK == 0 and time.monotonic() > until
                if late or score.events >= EVENTS or len(score.notes) >= NOTES:
                    return
                self._tick += self._number_of_any_length()
                self._event()
        finally:
            for (channel, pitch), begun in self._open.items():
                for start, velocity in begun:
                    self._note(start, self._tick, pitch, velocity, channel)

    def _event(self) -> None:
        first = self._byte()
        if first < 0x80:
            if not self._status:
                raise _Cut
            self._at -= 1
        elif first < 0xF0:
            self._status = first
        elif first == 0xFF:
            self._meta(self._byte(), self._some(self._number_of_any_length()))
            return
        else:
            self._some(self._number_of_any_length())
            return
        kind, channel = self._status & 0xF0, self._status & 0x0F
        value = self._byte() & 0x7F
        if kind == 0xC0:
            self._programs[channel] = value
            self._track.program = value if self._track.program < 0 else self._track.program
        elif kind != 0xD0:
            second = self._byte() & 0x7F
            if kind == 0x90 and second:
                self._open.setdefault((channel, value), deque()).append((self._tick, second))
            elif kind in (0x80, 0x90) and (begun := self._open.get((channel, value))):
                self._note(begun[0][0], self._tick, value, begun.popleft()[1], channel)

    def _meta(self, kind: int, said: bytes) -> None:
        if kind == 0x51 and len(said) == 3 and len(self._score.tempos) < NOTES:
            self._score.tempos.append((self._tick, int.from_bytes(said, "big") or _TEMPO))
        elif kind in (3, 4) and not self._track.name:
            self._track.name = said[:80].decode("utf-8", "replace").strip()
        elif kind == 0x2F:
            self._at = self._end

    def _note(self, start: int, end: int, pitch: int, velocity: int, channel: int) -> None:
        if len(self._score.notes) < NOTES:
            program = 128 if channel == _DRUMS else self._programs[channel]
            self._track.count += 1
            self._track.channels.add(channel)
            self._score.notes.append((start, end, pitch, velocity, self._number, program))

    def _byte(self) -> int:
        if self._at >= self._end:
            raise _Cut
        self._at += 1
        return self._content[self._at - 1]

    def _some(self, count: int) -> bytes:
        if self._at + count > self._end:
            raise _Cut
        self._at += count
        return self._content[self._at - count : self._at]

    def _number_of_any_length(self) -> int:
        value = 0
        for _ in range(4):
            byte = self._byte()
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                break
        return value


class Clock:
    """Converter from ticks to seconds.

    Args:
        division: Time division of the file header.
        tempos: Sorted tempos of a ``Score``.
    """

    def __init__(self, division: int, tempos: list[tuple[int, int]]) -> None:
        frames = 256 - (division >> 8) if division & 0x8000 else 0
        per = division & 0xFF if frames else division
        self._fixed = 1 / (frames * per) if frames and per else 0.0
        self._beat = max(1, division)
        self._ticks, self._seconds, self._tempos = [0], [0.0], [_TEMPO]
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
