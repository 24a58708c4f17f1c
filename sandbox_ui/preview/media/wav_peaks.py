"""Waveform of a WAV file, sampled at offsets so that file size does not matter."""

import math
import struct
from array import array
from dataclasses import dataclass
from typing import BinaryIO

from sandbox_ui.preview.base import PreviewError

MAX_PEAKS = 1000
_BLOCK_SAMPLES = 512
_BLOCKS_PER_PEAK = 2
_MAX_CHUNKS = 200
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_NAMES = {_PCM: "PCM", _FLOAT: "float", 6: "A-law", 7: "µ-law", 2: "ADPCM", 17: "ADPCM", 85: "MP3"}


@dataclass(frozen=True, slots=True)
class WavHeader:
    """Sample format and data chunk of a WAV file.

    Attributes:
        format_tag: Format tag: 1 for integer samples, 3 for floating point.
        bits_per_sample: Bits per sample.
        channels: Number of channels.
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
    """Read the chunk headers of a WAV file.

    Raises:
        PreviewError: The file has no valid format or data chunk.
    """
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


def read_peaks(file: BinaryIO, wave: WavHeader) -> list[int]:
    """Return alternating minima and maxima of up to 1,000 parts, ``-127`` to ``127``.

    Only a few blocks of a long part are read. Empty if the sample format is unknown.
    """
    if not _is_supported(wave):
        return []
    frames = wave.data_size // wave.frame_size
    columns = min(MAX_PEAKS, frames)
    found: list[int] = []
    for column in range(columns):
        first, last = frames * column // columns, frames * (column + 1) // columns
        low, high = _extremes(file, wave, first, last)
        found += [round(max(-1.0, low) * 127), round(min(1.0, high) * 127)]
    return found


def _is_supported(wave: WavHeader) -> bool:
    bits = {_PCM: (8, 16, 24, 32), _FLOAT: (32, 64)}.get(wave.format_tag, ())
    return wave.bits_per_sample in bits and 0 < wave.channels <= 64


def _extremes(file: BinaryIO, wave: WavHeader, first: int, last: int) -> tuple[float, float]:
    count, frames = last - first, max(1, _BLOCK_SAMPLES // wave.channels)
    if count <= frames * _BLOCKS_PER_PEAK:
        blocks = [(first, count)]
    else:
        blocks = [
            (first + count * at // _BLOCKS_PER_PEAK, frames) for at in range(_BLOCKS_PER_PEAK)
        ]
    low = high = 0.0
    for start, length in blocks:
        file.seek(wave.data_offset + start * wave.frame_size)
        values = _decode_samples(file.read(length * wave.frame_size), wave)
        if values:
            low, high = (
                min(low, _finite_or_zero(min(values))),
                max(high, _finite_or_zero(max(values))),
            )
    scale = _scale(wave)
    return low / scale, high / scale


def _finite_or_zero(value: float) -> float:
    return value if math.isfinite(value) else 0.0


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
