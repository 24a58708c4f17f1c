"""Protection against zip bombs."""

import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import BinaryIO

from agent.documents.signatures import OLE_SIGNATURE, is_encrypted_office
from sandbox_ui.preview.base import PreviewError

MAX_MEMBERS = 20_000
_MAX_DEFLATE_RATIO = 1032
_MAX_PART_BYTES = 1024**2
_CHUNK = 256 * 1024
_LOCAL = struct.Struct("<26xHH")


def open_checked_zip(file: BinaryIO, most: int) -> zipfile.ZipFile:
    """Open a document's zip file; check the declared sizes and, if doubtful, the actual ones."""
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


def open_office_zip(
    file: BinaryIO, most: int, noun: str, old: str, is_kind: Callable[[zipfile.ZipFile], bool]
) -> zipfile.ZipFile:
    """Open an office document of a kind; refuse one in another format or with a password."""
    if file.read(4) == OLE_SIGNATURE:
        if is_encrypted_office(file):
            raise PreviewError(f"This {noun} is protected with a password and cannot be shown.")
        raise PreviewError(
            f"This is a {noun} in an old format ({old}), which cannot be shown; download it."
        )
    archive = open_checked_zip(file, most)
    if is_kind(archive):
        return archive
    if _has_text(archive, "mimetype", b"application/vnd.oasis.opendocument"):
        raise PreviewError("This is an OpenDocument file, which cannot be shown; download it.")
    raise PreviewError(f"This is not a {noun}, despite its name.")


def has_content_type(archive: zipfile.ZipFile, content_type: bytes) -> bool:
    """Return whether an office document declares a part of this type."""
    return _has_text(archive, "[Content_Types].xml", content_type)


def _has_text(archive: zipfile.ZipFile, member: str, text: bytes) -> bool:
    try:
        with archive.open(member) as part:
            return text in part.read(_MAX_PART_BYTES)
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
