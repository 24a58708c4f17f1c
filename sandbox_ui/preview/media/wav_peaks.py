"""Waveform of a WAV file, sampled at offsets so that file size does not matter."""

import math
import struct
from array import array
from dataclasses import dataclass
from typing import BinaryIO

from sandbox_ui.preview.base import PreviewError

MAX_PEAKS = 2000
_MAX_CHANNELS = 8
_BLOCK_SAMPLES = 512
_BLOCKS_PER_PEAK = 2
_MAX_CHUNKS = 200
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_NAMES = {_PCM: "PCM", _FLOAT: "float", 6: "A-law", 7: "µ-law", 2: "ADPCM", 17: "ADPCM", 85: "MP3"}


@dataclass(frozen=True, slots=True)
class WavHeader:
    """Sample format and data chunk of a WAV file.

    Attributes:
        format_tag: 1 for integer samples, 3 for floating point.
        sample_rate: Sample rate in Hz.
        data_offset: Offset of the samples in the file.
        data_size: Bytes of samples present.
        missing_bytes: Declared bytes of samples that the file lacks.
        byte_rate: Declared bytes per second.
    """

    format_tag: int
    bits_per_sample: int
    channels: int
    sample_rate: int
    data_offset: int
    data_size: int
    missing_bytes: int
    byte_rate: int

    @property
    def frame_size(self) -> int:
        """Bytes per frame (one sample of each channel)."""
        return self.channels * self.bits_per_sample // 8

    @property
    def seconds(self) -> float:
        """Duration of the samples present, in seconds."""
        bytes_per_second = (
            self.sample_rate * self.frame_size
            if self.format_tag in (_PCM, _FLOAT)
            else self.byte_rate
        )
        return self.data_size / bytes_per_second if bytes_per_second else 0.0

    @property
    def description(self) -> str:
        """Description of the sample format."""
        name = _NAMES.get(self.format_tag, f"coding {self.format_tag}")
        return f"{self.bits_per_sample} bit {name}" if self.bits_per_sample else name


def read_wav_header(file: BinaryIO, size: int) -> WavHeader:
    """Read the chunk headers of a WAV file."""
    file.seek(12)
    format_tag = bits = channels = rate = byte_rate = 0
    for _ in range(_MAX_CHUNKS):
        head = file.read(8)
        if len(head) < 8:
            break
        name, length = struct.unpack("<4sI", head)
        at = file.tell()
        if name == b"fmt ":
            format_tag, channels, rate, byte_rate, bits = _format(file.read(min(length, 64)))
        elif name == b"data" and channels and rate:
            present = min(length, size - at) if length not in (0, 0xFFFFFFFF) else size - at
            declared = length if length != 0xFFFFFFFF else present
            return WavHeader(
                format_tag, bits, channels, rate, at, present, max(0, declared - present), byte_rate
            )
        file.seek(at + length + length % 2)
    raise PreviewError("This WAV file contains no audio.")


def _format(chunk: bytes) -> tuple[int, int, int, int, int]:
    if len(chunk) < 16:
        raise PreviewError("This WAV file does not state its audio format.")
    format_tag, channels, rate, byte_rate, _, bits = struct.unpack_from("<HHIIHH", chunk)
    if format_tag == _EXTENSIBLE and len(chunk) >= 26:
        (format_tag,) = struct.unpack_from("<H", chunk, 24)
    return format_tag, channels, rate, byte_rate, bits


def read_peaks(file: BinaryIO, wave: WavHeader) -> list[list[float]]:
    """Return the loudest sample, ``-1`` to ``1``, of up to 2,000 parts of each channel.

    Only a few blocks of a long part are read. More than eight channels are merged. Empty if the
    sample format is unknown.
    """
    if not _is_supported(wave):
        return []
    frames = wave.data_size // wave.frame_size
    columns = min(MAX_PEAKS, frames)
    rows = wave.channels if wave.channels <= _MAX_CHANNELS else 1
    peaks: list[list[float]] = [[] for _ in range(rows)]
    scale = _scale(wave)
    for column in range(columns):
        first, last = frames * column // columns, frames * (column + 1) // columns
        samples = _read_samples(file, wave, first, last)
        for row, found in enumerate(peaks):
            found.append(_loudest(samples[row::rows], scale))
    return peaks


def _is_supported(wave: WavHeader) -> bool:
    bits = {_PCM: (8, 16, 24, 32), _FLOAT: (32, 64)}.get(wave.format_tag, ())
    return wave.bits_per_sample in bits and 0 < wave.channels <= 64


def _read_samples(
    file: BinaryIO, wave: WavHeader, first: int, last: int
) -> "array[float] | array[int]":
    count, frames = last - first, max(1, _BLOCK_SAMPLES // wave.channels)
    if count <= frames * _BLOCKS_PER_PEAK:
        blocks = [(first, count)]
    else:
        blocks = [
            (first + count * at // _BLOCKS_PER_PEAK, frames) for at in range(_BLOCKS_PER_PEAK)
        ]
    content = b""
    for start, length in blocks:
        file.seek(wave.data_offset + start * wave.frame_size)
        content += file.read(length * wave.frame_size)
    return _decode_samples(content, wave)


def _loudest(samples: "array[float] | array[int]", scale: float) -> float:
    extremes = (min(samples, default=0), max(samples, default=0))
    loudest = max((each for each in extremes if math.isfinite(each)), key=abs, default=0)
    return round(max(-1.0, min(1.0, loudest / scale)), 3)


def _decode_samples(content: bytes, wave: WavHeader) -> "array[float] | array[int]":
    content = content[: len(content) // (wave.bits_per_sample // 8) * (wave.bits_per_sample // 8)]
    if wave.format_tag == _FLOAT:
        return array("f" if wave.bits_per_sample == 32 else "d", content)
    if wave.bits_per_sample == 8:
        return array("h", [byte - 128 for byte in content])
    if wave.bits_per_sample == 24:  # the upper two bytes suffice for drawing
        upper = bytearray(len(content) // 3 * 2)
        upper[::2], upper[1::2] = content[1::3], content[2::3]
        return array("h", bytes(upper))
    return array("h" if wave.bits_per_sample == 16 else "i", content)


def _scale(wave: WavHeader) -> float:
    if wave.format_tag == _FLOAT:
        return 1.0
    return {8: 128.0, 16: 32768.0, 24: 32768.0, 32: 2147483648.0}[wave.bits_per_sample]
