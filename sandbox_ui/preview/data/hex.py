"""Files without another preview: detected type, bytes in hex and embedded strings."""

import ast
import json
import math
import re
import struct
from collections import Counter
from itertools import islice
from typing import Any, BinaryIO

import puremagic

from sandbox_ui.preview.base import Preview, PreviewRequest

Facts = list[tuple[str, str]]

DUMP_BYTES = 2048
_READ_BYTES = 64 * 1024
_MAX_STRINGS = 60
_STRING = re.compile(rb"[\x20-\x7e]{6,}")
_SIGNATURES = (  # what puremagic does not know, or takes for something else
    (b"MZ", "A program or library for Windows."),
    (b"\xfe\xed\xfa", "A program or library for macOS."),
    (b"BC\xc0\xde", "LLVM bitcode (a partly compiled program)."),
    (b"\x1bLua", "A compiled Lua program."),
    (b"!<arch>\ndebian", "A package for Debian or Ubuntu."),
    (b"!<arch>\n", "An archive of compiled code."),
    (b"\xd4\xc3\xb2\xa1", "Packets captured from a network (pcap)."),
    (b"\xa1\xb2\xc3\xd4", "Packets captured from a network (pcap)."),
    (b"\x0a\x0d\x0d\x0a", "Packets captured from a network (pcapng)."),
    (b"7\x7f\x06\x82", "A write-ahead log of the SQLite database next to it."),
    (b"7\x7f\x06\x83", "A write-ahead log of the SQLite database next to it."),
    (b"\xd9\xd5\x05\xf9 \xa1c\xd7", "A rollback journal of the SQLite database next to it."),
    (b"\x89HDF\r\n\x1a\n", "Arrays of numbers in HDF5 (also Keras models and NetCDF 4)."),
    (b"CDF\x01", "Arrays of numbers in NetCDF."),
    (b"CDF\x02", "Arrays of numbers in NetCDF."),
    (b"MATLAB 5.0", "Variables saved by MATLAB."),
    (b"ARROW1", "A table in Arrow format (Feather)."),
    (b"Obj\x01", "Records in Avro."),
    (b"ORC", "A table in ORC."),
    (b"RDX", "Variables saved by R."),
    (b"GGUF", "Weights of a language model (GGUF, for llama.cpp)."),
    (b"\x1f\x9d", "Compressed with compress."),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "An old Office file (doc, xls, ppt or msg)."),
    (b"glTF", "A 3D model in binary glTF."),
    (b"ply\n", "A 3D model or point cloud in PLY."),
    (b"LASF", "A point cloud from a laser scan (LAS)."),
    (b"\x00\x00\x27\x0a", "Map shapes (a shapefile)."),
    (b"PACK", "Packed objects of a Git repository."),
    (b"DIRC", "The index of a Git repository."),
    (b"\xde\x12\x04\x95", "Compiled gettext translations."),
    (b"\x95\x04\x12\xde", "Compiled gettext translations."),
    (b"\xff\x4f\xff\x51", "A JPEG 2000 image."),
    (b"\xff\x0a", "A JPEG XL image."),
    (b"RIFF", "Audio, images or video in a RIFF container."),
)  # fmt: skip
_MACHINES = {3: "32-bit x86", 40: "32-bit ARM", 62: "x86-64", 183: "64-bit ARM", 243: "RISC-V"}
_ELF = {1: "Compiled code, not linked", 2: "A program", 3: "A program or shared library",
        4: "The memory of a crashed program (a core dump)"}  # fmt: skip
_MAX_TENSORS = 12
# Signatures shorter than this count only if the name agrees, which puremagic rates as 0.9.
_MIN_BYTES, _MIN_BYTES_IN_TEXT, _NAME_AGREES = 4, 8, 0.9


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return a description, properties and first bytes in hex; with ``offset``, ``strings``."""
    if "offset" in request.options:
        return {"strings": _find_strings(file, request.int_option("offset", maximum=request.size))}
    head = file.read(_READ_BYTES)
    description, properties = identify(head, request.size, request.name)
    dump = head[:DUMP_BYTES].hex()
    return {
        "description": description,
        "properties": properties,
        "head": dump,
        "size": request.size,
    }


def _find_strings(file: BinaryIO, offset: int) -> list[list[Any]]:
    file.seek(offset)
    found = islice(_STRING.finditer(file.read(_READ_BYTES)), _MAX_STRINGS)
    return [[offset + each.start(), each[0][:200].decode()] for each in found]


def identify(head: bytes, size: int, name: str = "") -> tuple[str, Facts]:
    """Return a file's description and the facts in its first 64 KB; nothing is executed."""
    for describe in (_elf, _java, _wasm, _numpy, _tensors, _pickle, _compiled_python):
        if (found := describe(head, size)) is not None:
            return found
    if head[128:132] == b"DICM":
        return "A medical image (DICOM).", []
    if head[32769:32774] == b"CD001":
        return "A CD or DVD image (ISO 9660).", []
    plain = next((said for sign, said in _SIGNATURES if head.startswith(sign)), "")
    return plain or _describe_signature(head, name) or _describe_content(head), []


def _elf(head: bytes, _size: int) -> tuple[str, Facts] | None:
    if not head.startswith(b"\x7fELF") or len(head) < 20:
        return None
    order = ">" if head[5] == 2 else "<"
    kind, machine = struct.unpack_from(f"{order}HH", head, 16)
    facts = [("for", _MACHINES.get(machine, f"machine {machine}"))]
    facts.append(("width", "64 bit" if head[4] == 2 else "32 bit"))
    return f"{_ELF.get(kind, 'Code')} for Linux (ELF).", facts


def _java(head: bytes, _size: int) -> tuple[str, Facts] | None:
    if not head.startswith(b"\xca\xfe\xba\xbe") or len(head) < 8:
        return None
    (version,) = struct.unpack_from(">H", head, 6)
    if version < 45:
        return "A macOS program for several processor types.", []
    return "A compiled Java class.", [("made for", f"Java {version - 44}")]


def _wasm(head: bytes, _size: int) -> tuple[str, Facts] | None:
    if not head.startswith(b"\0asm") or len(head) < 8:
        return None
    return "A WebAssembly module.", [("version", str(int.from_bytes(head[4:8], "little")))]


def _numpy(head: bytes, size: int) -> tuple[str, Facts] | None:
    if not head.startswith(b"\x93NUMPY") or len(head) < 12:
        return None
    wide = head[6] > 1
    length = int.from_bytes(head[8 : 12 if wide else 10], "little")
    start = 12 if wide else 10
    try:
        said = ast.literal_eval(head[start : start + min(length, 4096)].decode("latin-1").strip())
        shape, kind = said["shape"], said["descr"]
        facts = [("shape", " × ".join(str(int(each)) for each in shape) or "a single value")]
        facts.append(("numbers", str(kind)[:200]))
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        return "A NumPy array whose header cannot be read.", []
    if size < start + length:
        facts.append(("note", "truncated in its header"))
    return "A NumPy array.", facts


def _tensors(head: bytes, size: int) -> tuple[str, Facts] | None:
    length = int.from_bytes(head[:8], "little")
    if head[8:9] != b"{" or not 2 <= length < min(size, 100 * 1024**2):
        return None
    if length > len(head) - 8:
        return "Model weights (safetensors).", []
    try:
        said = json.loads(head[8 : 8 + length])
    except (ValueError, RecursionError):
        return None
    tensors = {
        name: each for name, each in said.items() if isinstance(each, dict) and "shape" in each
    }
    facts = [("tensors", f"{len(tensors):,}")]
    for name, each in list(tensors.items())[:_MAX_TENSORS]:
        shape = each["shape"] if isinstance(each["shape"], list) else []
        written = " × ".join(str(number)[:20] for number in shape[:8])
        facts.append((str(name)[:80], f"{written} {str(each.get('dtype', ''))[:12]}"))
    return "Model weights (safetensors).", facts


def _pickle(head: bytes, _size: int) -> tuple[str, Facts] | None:
    if len(head) > 2 and head[0] == 0x80 and 2 <= head[1] <= 5 and head[2] in b"\x95}](cXKJGNU\x8c":
        sentence = (
            "A Python object (pickle). It is not loaded here, because loading it can execute "
            "any code."
        )
        return sentence, [("protocol", str(head[1]))]
    return None


def _compiled_python(head: bytes, _size: int) -> tuple[str, Facts] | None:
    if head[2:4] == b"\r\n" and len(head) >= 16 and b"\n" not in head[:2]:
        (version,) = struct.unpack_from("<H", head)
        if 3000 <= version < 4000:
            return "A compiled Python module.", []
    return None


def _describe_signature(head: bytes, name: str) -> str:
    """Describe one of the many types of puremagic; empty if its signature is weak."""
    try:
        best = puremagic.magic_string(head, name)[0]
    except (puremagic.PureError, ValueError, IndexError):
        return ""
    needed = _MIN_BYTES_IN_TEXT if _is_mostly_text(head) else _MIN_BYTES
    is_weak = len(best.byte_match) < needed and best.confidence < _NAME_AGREES
    return "" if is_weak or not best.byte_match.strip(b"\0") else f"{best.name}."


def _describe_content(head: bytes) -> str:
    if not head:
        return ""
    if not head.strip(b"\0"):
        return "Only zeros, at least at its beginning."
    if _is_mostly_text(head):
        return "Mostly plain text with some binary data."
    if len(head) >= 4096 and _entropy(head) > 7.9:
        return "Unknown type; the bytes look compressed or encrypted."
    return "Unknown type."


def _is_mostly_text(head: bytes) -> bool:
    printable = sum(1 for byte in head[:4096] if 32 <= byte < 127 or byte in b"\t\n\r")
    return printable > 0.95 * len(head[:4096])


def _entropy(content: bytes) -> float:
    """Return the entropy in bits per byte, at most 8."""
    shares = [count / len(content) for count in Counter(content).values()]
    return -sum(share * math.log2(share) for share in shares)
