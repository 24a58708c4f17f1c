"""Protection against zip bombs."""

import struct
import zipfile
import zlib
from typing import BinaryIO

from sandbox_ui.preview.base import PreviewError

MAX_MEMBERS = 20_000
_MAX_DEFLATE_RATIO = 1032
_CHUNK = 256 * 1024
_LOCAL = struct.Struct("<26xHH")


def open_checked_zip(file: BinaryIO, most: int) -> zipfile.ZipFile:
    """Open a document's zip file after checking its unpacked size.

    Checks the declared sizes and, where those are doubtful, the actual ones.
    """
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise PreviewError(
            f"The file cannot be unpacked; it may be damaged or truncated ({error})."
        ) from None
    members = archive.infolist()
    if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > most:
        raise _too_large_error(most)
    left = most
    for member in members:
        left -= _real_size(file, member, left)
        if left < 0:
            raise _too_large_error(most)
    return archive


def is_open_document(archive: zipfile.ZipFile) -> bool:
    """Return whether the archive declares itself an OpenDocument file."""
    try:
        with archive.open("mimetype") as member:
            return member.read(40).startswith(b"application/vnd.oasis.opendocument")
    except (KeyError, zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError):
        return False


def _too_large_error(most: int) -> PreviewError:
    return PreviewError(
        f"The file would unpack to more than {most >> 20} MB, which is too large to be shown."
    )


def _real_size(file: BinaryIO, member: zipfile.ZipInfo, most: int) -> int:
    """Return a member's unpacked size; inflate it only if that is doubtful."""
    if member.compress_type == zipfile.ZIP_STORED:
        return member.compress_size
    small = member.compress_size * _MAX_DEFLATE_RATIO < most // 100
    if small or member.compress_type != zipfile.ZIP_DEFLATED:
        return member.file_size
    return _inflated_size(file, member, most)


def _inflated_size(file: BinaryIO, member: zipfile.ZipInfo, most: int) -> int:
    file.seek(member.header_offset)
    name, extra = _LOCAL.unpack(file.read(_LOCAL.size))
    file.seek(name + extra, 1)
    left, size = member.compress_size, 0
    inflate = zlib.decompressobj(-15)
    while left > 0 and size <= most and not inflate.eof:
        packed = file.read(min(_CHUNK, left))
        if not packed:
            break
        left -= len(packed)
        try:
            while packed and size <= most:
                size += len(inflate.decompress(packed, _CHUNK * 4))
                packed = inflate.unconsumed_tail
        except zlib.error:
            break
    return size
