"""Recognises PDF and office documents, and encrypted ones, by their first bytes and names."""

import re
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import zipfile  # slow to import, and a run needs none of it

WORKBOOK_EXTENSIONS = (".xlsx", ".xlsm", ".xlsb", ".ods", ".xls")
OFFICE_EXTENSIONS = (
    *WORKBOOK_EXTENSIONS, ".docx", ".docm", ".odt", ".pptx", ".pptm", ".odp",
)  # fmt: skip
"""Endings of the names of office documents whose text can be extracted."""

# First bytes of office documents in old formats, and of encrypted ones
OLE_SIGNATURE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_PDF_HEADER = re.compile(rb"\s*(?:\xef\xbb\xbf\s*)?%PDF-")
_LOCKED_WORKBOOK = re.compile(
    rb"\x09\x08(?:\x10\0\0\x06\x05\0.{12}|\x08\0\0\x05\x05\0.{4})(?:\x86\0\0\0)?\x2f\0", re.DOTALL
)
_MANIFEST = "META-INF/manifest.xml"
_MAX_HEADER_OFFSET = 1024
_DIRECTORY_BYTES = 4096
_SEARCHED_BYTES = 1024**2


def is_pdf(name: str, start: bytes) -> bool:
    """Return whether a file is a PDF; other bytes may precede its header (ISO 32000-1, H.3.4.1)."""
    if name.lower().endswith(".pdf"):
        return b"%PDF-" in start[:_MAX_HEADER_OFFSET]
    return bool(_PDF_HEADER.match(start))


def is_office(name: str, start: bytes) -> bool:
    """Return whether a file is an office document whose text can be extracted."""
    return start.startswith((b"PK\3\4", OLE_SIGNATURE)) and name.lower().endswith(OFFICE_EXTENSIONS)


def is_encrypted_office(file: BinaryIO) -> bool:
    """Return whether an OLE file is encrypted (MS-OFFCRYPTO 1.3.2, MS-CFB 2.2, MS-XLS 2.4.117)."""
    file.seek(0)
    head = file.read(_SEARCHED_BYTES)
    if not head.startswith(OLE_SIGNATURE):
        return False
    if _ENCRYPTED_PACKAGE in head or _LOCKED_WORKBOOK.search(head):
        return True
    file.seek((int.from_bytes(head[48:52], "little") + 1) << min(head[30], 12))
    return _ENCRYPTED_PACKAGE in file.read(_DIRECTORY_BYTES)


def is_encrypted_open_document(archive: "zipfile.ZipFile") -> bool:
    """Return whether an OpenDocument file is encrypted (ODF 1.3, part 2, 3.4)."""
    names = archive.namelist()
    if "encrypted-package" in names:  # LibreOffice since 24.8
        return True
    if _MANIFEST not in names:
        return False
    with archive.open(_MANIFEST) as manifest:
        return b"encryption-data" in manifest.read(_SEARCHED_BYTES)
