"""Audio: header data and, for WAV, a waveform; the browser plays the file."""

import math
import struct
from array import array
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

from sandbox_ui.preview.base import Preview, PreviewError, PreviewRequest

MAX_PEAKS = 2000
_HEAD = 4096
_MP3_SAMPLE_RATES = (44100, 48000, 32000)
_MAX_CHANNELS = 8
_OPUS_SAMPLE_RATE = 48000
_MAX_OGG_PAGE = 65_307
_BLOCK_SAMPLES = 512
_BLOCKS_PER_PEAK = 2
_MAX_CHUNKS = 200
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_SCALES = {8: 128.0, 16: 32768.0, 24: 32768.0, 32: 2147483648.0}
_NAMES = {_PCM: "PCM", _FLOAT: "float", 6: "A-law", 7: "µ-law", 2: "ADPCM", 17: "ADPCM", 85: "MP3"}
_Samples: TypeAlias = "array[float] | array[int]"


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return ``format`` and optional ``sample_rate``, ``channels``, ``seconds``, ``peaks``."""
    head = file.read(_HEAD)
    if head[:4] in (b"RIFF", b"RF64") and head[8:12] == b"WAVE":
        return _wav_metadata(file, request.size)
    metadata = _ogg(head, file, request.size) if head[:4] == b"OggS" else _header_metadata(head)
    return {"size": request.size, "peaks": [], **metadata}


def _wav_metadata(file: BinaryIO, size: int) -> dict[str, Any]:
    wave = _read_wav_header(file, size)
    if not wave.data_size:
        raise PreviewError("This WAV file contains no audio: it ends after its header.")
    rate = wave.sample_rate * wave.frame_size
    return {
        "format": f"wav, {wave.description}",
        "sample_rate": wave.sample_rate,
        "channels": wave.channels,
        "seconds": wave.seconds,
        "missing_seconds": wave.missing_bytes / rate if rate else 0.0,
        "peaks": _read_peaks(file, wave),
        "size": size,
    }


def _header_metadata(head: bytes) -> dict[str, Any]:
    if head.startswith(b"fLaC") and len(head) >= 26:
        packed = int.from_bytes(head[18:26], "big")
        rate, samples = packed >> 44, packed & (1 << 36) - 1
        metadata = {"sample_rate": rate, "channels": (packed >> 41 & 7) + 1, "format": "FLAC"}
        return {**metadata, "seconds": samples / rate} if rate and samples else metadata
    if head[4:8] == b"ftyp":
        return {"format": "AAC in MPEG-4"}
    return _mp3(head)


def _ogg(head: bytes, file: BinaryIO, size: int) -> dict[str, Any]:
    if (at := head.find(b"\x01vorbis")) >= 0 and len(head) >= at + 16:
        channels, rate = struct.unpack_from("<BI", head, at + 11)
        metadata = {"format": "Ogg Vorbis", "channels": channels, "sample_rate": rate}
        skipped = 0
    elif (at := head.find(b"OpusHead")) >= 0 and len(head) >= at + 16:
        rate, (channels, skipped) = _OPUS_SAMPLE_RATE, struct.unpack_from("<BH", head, at + 9)
        metadata = {"format": "Ogg Opus", "channels": channels, "sample_rate": rate}
    else:
        return {"format": "Ogg"}
    samples = _last_ogg_position(file, size) - skipped
    return {**metadata, "seconds": samples / rate} if rate and samples > 0 else metadata


def _last_ogg_position(file: BinaryIO, size: int) -> int:
    """Return the position in samples after the last page (RFC 3533); 0 if it has none."""
    file.seek(max(0, size - _MAX_OGG_PAGE))
    tail = file.read(_MAX_OGG_PAGE)
    at = tail.rfind(b"OggS", 0, len(tail) - 10)
    return int.from_bytes(tail[at + 6 : at + 14], "little", signed=True) if at >= 0 else 0


def _mp3(head: bytes) -> dict[str, Any]:
    start = 0
    if head.startswith(b"ID3") and len(head) >= 10:
        start = 10 + (head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9])
    for at in range(start, len(head) - 3):
        if head[at] == 0xFF and head[at + 1] & 0xE0 == 0xE0:
            version, layer = head[at + 1] >> 3 & 3, head[at + 1] >> 1 & 3
            rate = head[at + 2] >> 2 & 3
            if layer == 1 and version != 1 and rate < 3:
                channels = 1 if head[at + 3] >> 6 == 3 else 2
                divisor = {3: 1, 2: 2, 0: 4}[version]
                rate = _MP3_SAMPLE_RATES[rate] // divisor
                return {"format": "MP3", "sample_rate": rate, "channels": channels}
    return {"format": "MP3" if head.startswith(b"ID3") else ""}


@dataclass(frozen=True, slots=True)
class _WavHeader:
    """Sample format of a WAV file, its samples, and those that it declares but lacks."""

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
        """Bytes of one sample of each channel."""
        return self.channels * self.bits_per_sample // 8

    @property
    def seconds(self) -> float:
        """Duration of the samples present."""
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


def _read_wav_header(file: BinaryIO, size: int) -> _WavHeader:
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
            return _WavHeader(
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


def _read_peaks(file: BinaryIO, wave: _WavHeader) -> list[list[float]]:
    """Return the loudest sample, ``-1`` to ``1``, of up to 2,000 parts of each channel."""
    supported = {_PCM: (8, 16, 24, 32), _FLOAT: (32, 64)}.get(wave.format_tag, ())
    if wave.bits_per_sample not in supported or not 0 < wave.channels <= 64:
        return []
    frames = wave.data_size // wave.frame_size
    columns = min(MAX_PEAKS, frames)
    rows = wave.channels if wave.channels <= _MAX_CHANNELS else 1
    peaks: list[list[float]] = [[] for _ in range(rows)]
    scale = 1.0 if wave.format_tag == _FLOAT else _SCALES[wave.bits_per_sample]
    for column in range(columns):
        first, last = frames * column // columns, frames * (column + 1) // columns
        samples = _read_samples(file, wave, first, last)
        for row, found in enumerate(peaks):
            found.append(_loudest(samples[row::rows], scale))
    return peaks


def _read_samples(file: BinaryIO, wave: _WavHeader, first: int, last: int) -> _Samples:
    count, frames = last - first, max(1, _BLOCK_SAMPLES // wave.channels)
    steps = [first + count * at // _BLOCKS_PER_PEAK for at in range(_BLOCKS_PER_PEAK)]
    is_short = count <= frames * _BLOCKS_PER_PEAK
    blocks = [(first, count)] if is_short else [(step, frames) for step in steps]
    content = b""
    for start, length in blocks:
        file.seek(wave.data_offset + start * wave.frame_size)
        content += file.read(length * wave.frame_size)
    return _decode_samples(content, wave)


def _loudest(samples: _Samples, scale: float) -> float:
    extremes = (min(samples, default=0), max(samples, default=0))
    loudest = max((each for each in extremes if math.isfinite(each)), key=abs, default=0)
    return round(max(-1.0, min(1.0, loudest / scale)), 3)


def _decode_samples(content: bytes, wave: _WavHeader) -> _Samples:
    content = content[: len(content) - len(content) % (wave.bits_per_sample // 8)]
    if wave.format_tag == _FLOAT:
        return array("f" if wave.bits_per_sample == 32 else "d", content)
    if wave.bits_per_sample == 8:
        return array("h", [byte - 128 for byte in content])
    if wave.bits_per_sample == 24:  # the upper two bytes suffice for drawing
        upper = bytearray(len(content) // 3 * 2)
        upper[::2], upper[1::2] = content[1::3], content[2::3]
        return array("h", bytes(upper))
    return array("h" if wave.bits_per_sample == 16 else "i", content)
