"""Waveform of a WAV file, sampled at offsets so that file size does not matter."""

import math
import struct
from array import array
from dataclasses import dataclass
from typing import BinaryIO

from sandbox_ui.preview.base import Unreadable

COLUMNS = 1000
_BLOCK = 512
_BLOCKS = 2
_CHUNKS = 200
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_NAMES = {_PCM: "PCM", _FLOAT: "float", 6: "A-law", 7: "µ-law", 2: "ADPCM", 17: "ADPCM", 85: "MP3"}


@dataclass(frozen=True, slots=True)
class Wave:
    """Sample format and data chunk of a WAV file.

    Attributes:
        coding: Format tag: 1 for integer samples, 3 for floating point.
        bits: Bits per sample.
        channels: Number of channels.
        rate: Sample rate in Hz.
        at: Offset of the samples in the file.
        size: Bytes of samples present.
        missing: Declared bytes of samples that the file lacks.
        pace: Declared bytes per second.
    """

    coding: int
    bits: int
    channels: int
    rate: int
    at: int
    size: int
    missing: int
    pace: int

    @property
    def frame(self) -> int:
        """Bytes per frame (one sample of each channel)."""
        return self.channels * self.bits // 8

    @property
    def seconds(self) -> float:
        """Duration of the samples present, in seconds."""
        pace = self.rate * self.frame if self.coding in (_PCM, _FLOAT) else self.pace
        return self.size / pace if pace else 0.0

    @property
    def coded(self) -> str:
        """Description of the sample format."""
        name = _NAMES.get(self.coding, f"coding {self.coding}")
        return f"{self.bits} bit {name}" if self.bits else name


def read_wave(file: BinaryIO, size: int) -> Wave:
    """Read the chunk headers of a WAV file.

    Raises:
        Unreadable: The file has no valid format or data chunk.
    """
    file.seek(12)
    coding = bits = channels = rate = pace = 0
    for _ in range(_CHUNKS):
        head = file.read(8)
        if len(head) < 8:
            break
        name, length = struct.unpack("<4sI", head)
        at = file.tell()
        if name == b"fmt ":
            coding, channels, rate, pace, bits = _format(file.read(min(length, 64)))
        elif name == b"data" and channels and rate:
            there = min(length, size - at) if length not in (0, 0xFFFFFFFF) else size - at
            promised = length if length != 0xFFFFFFFF else there
            return Wave(coding, bits, channels, rate, at, there, max(0, promised - there), pace)
        file.seek(at + length + length % 2)
    raise Unreadable("This file says that it is a wav, and holds no sound.")


def _format(chunk: bytes) -> tuple[int, int, int, int, int]:
    if len(chunk) < 16:
        raise Unreadable("This wav file does not say how its sound is written.")
    coding, channels, rate, pace, _, bits = struct.unpack_from("<HHIIHH", chunk)
    if coding == _EXTENSIBLE and len(chunk) >= 26:
        (coding,) = struct.unpack_from("<H", chunk, 24)
    return coding, channels, rate, pace, bits


def peaks(file: BinaryIO, wave: Wave) -> list[int]:
    """Return alternating minima and maxima of up to 1,000 parts, ``-127`` to ``127``.

    Only a few blocks of a long part are read. Empty if the sample format is unknown.
    """
    if not _known(wave):
        return []
    frames = wave.size // wave.frame
    columns = min(COLUMNS, frames)
    found: list[int] = []
    for column in range(columns):
        first, last = frames * column // columns, frames * (column + 1) // columns
        low, high = _extremes(file, wave, first, last)
        found += [round(max(-1.0, low) * 127), round(min(1.0, high) * 127)]
    return found


def _known(wave: Wave) -> bool:
    bits = {_PCM: (8, 16, 24, 32), _FLOAT: (32, 64)}.get(wave.coding, ())
    return wave.bits in bits and 0 < wave.channels <= 64


def _extremes(file: BinaryIO, wave: Wave, first: int, last: int) -> tuple[float, float]:
    count, frames = last - first, max(1, _BLOCK // wave.channels)
    if count <= frames * _BLOCKS:
        blocks = [(first, count)]
    else:
        blocks = [(first + count * at // _BLOCKS, frames) for at in range(_BLOCKS)]
    low = high = 0.0
    for start, length in blocks:
        file.seek(wave.at + start * wave.frame)
        values = _numbers(file.read(length * wave.frame), wave)
        if values:
            low, high = min(low, _plain(min(values))), max(high, _plain(max(values)))
    scale = _scale(wave)
    return low / scale, high / scale


def _plain(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _numbers(content: bytes, wave: Wave) -> "array[float] | array[int]":
    content = content[: len(content) // (wave.bits // 8) * (wave.bits // 8)]
    if wave.coding == _FLOAT:
        return array("f" if wave.bits == 32 else "d", content)
    if wave.bits == 8:
        return array("h", [byte - 128 for byte in content])
    if wave.bits == 24:  # the upper two bytes suffice for drawing
        upper = bytearray(len(content) // 3 * 2)
        upper[::2], upper[1::2] = content[1::3], content[2::3]
        return array("h", bytes(upper))
    return array("h" if wave.bits == 16 else "i", content)


def _scale(wave: Wave) -> float:
    if wave.coding == _FLOAT:
        return 1.0
    return {8: 128.0, 16: 32768.0, 24: 32768.0, 32: 2147483648.0}[wave.bits]
