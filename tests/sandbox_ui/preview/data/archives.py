"""Generated ZIP files, also those that are documents."""

import io
import zipfile
from collections.abc import Callable, Mapping


def make_zip(files: Mapping[str, str | bytes]) -> bytes:
    """A ZIP file of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, (2024, 5, 1, 12, 30, 0))
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def change_members(content: bytes, changed: str, change: Callable[[bytes], bytes]) -> bytes:
    """A ZIP file with the members changed whose names begin so."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return make_zip({name: change(each) if name.startswith(changed) else each
                     for name, each in files.items()})  # fmt: skip


def zip_bomb(name: str, megabytes: int) -> bytes:
    """A ZIP file with a member of zeros."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w") as member,
    ):
        for _ in range(megabytes):
            member.write(bytes(1024**2))
    return buffer.getvalue()
