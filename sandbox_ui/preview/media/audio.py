"""Audio: header data and, for WAV, a waveform; the browser plays the file."""

import struct
from typing import Any, BinaryIO

from sandbox_ui.preview.base import JsonPreview, PreviewError, PreviewRequest
from sandbox_ui.preview.media.wav_peaks import read_peaks, read_wav_header

_HEAD = 4096
_MP3_SAMPLE_RATES = (44100, 48000, 32000)


def view(file: BinaryIO, request: PreviewRequest) -> JsonPreview:
    """Return ``format`` and optional ``sample_rate``, ``channels``, ``seconds``, ``peaks``."""
    if not request.size:
        raise PreviewError("This file is empty.")
    head = file.read(_HEAD)
    if head[:4] in (b"RIFF", b"RF64") and head[8:12] == b"WAVE":
        return JsonPreview(_wav_metadata(file, request.size))
    return JsonPreview({"size": request.size, "peaks": [], **_header_metadata(head)})


def _wav_metadata(file: BinaryIO, size: int) -> dict[str, Any]:
    wave = read_wav_header(file, size)
    if not wave.data_size:
        raise PreviewError("This WAV file contains no audio: it ends after its header.")
    missing_seconds = (
        wave.missing_bytes / (wave.sample_rate * wave.frame_size)
        if wave.sample_rate * wave.frame_size
        else 0.0
    )
    return {
        "format": f"wav, {wave.description}",
        "sample_rate": wave.sample_rate,
        "channels": wave.channels,
        "seconds": wave.seconds,
        "missing_seconds": missing_seconds,
        "peaks": read_peaks(file, wave),
        "size": size,
    }


def _header_metadata(head: bytes) -> dict[str, Any]:
    if head.startswith(b"fLaC") and len(head) >= 26:
        packed = int.from_bytes(head[18:26], "big")
        rate, samples = packed >> 44, packed & (1 << 36) - 1
        metadata = {"sample_rate": rate, "channels": (packed >> 41 & 7) + 1, "format": "FLAC"}
        return {**metadata, "seconds": samples / rate} if rate and samples else metadata
    if head.startswith(b"OggS"):
        return _ogg(head)
    if head[4:8] == b"ftyp":
        return {"format": "AAC in MPEG-4"}
    return _mp3(head)


def _ogg(head: bytes) -> dict[str, Any]:
    if (at := head.find(b"\x01vorbis")) >= 0 and len(head) >= at + 16:
        channels, rate = struct.unpack_from("<BI", head, at + 11)
        return {"format": "Ogg Vorbis", "channels": channels, "sample_rate": rate}
    if (at := head.find(b"OpusHead")) >= 0 and len(head) >= at + 16:
        return {"format": "Ogg Opus", "channels": head[at + 9], "sample_rate": 48000}
    return {"format": "Ogg"}


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
                return {
                    "format": "MP3",
                    "sample_rate": _MP3_SAMPLE_RATES[rate] // divisor,
                    "channels": channels,
                }
    return {"format": "MP3" if head.startswith(b"ID3") else ""}
