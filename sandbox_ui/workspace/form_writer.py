"""Write the file of a multipart form to disk while it is received."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

_MAX_FIELDS = 8


@dataclass(frozen=True, slots=True)
class FormUpload:
    """A form with one file: its texts, the part that is the file (empty without one), its name."""

    fields: Mapping[str, str]
    file_part: str = ""
    file_name: str = ""


async def write_form(request: Request, path: Path) -> FormUpload:
    """Write the file of a request's form to a path, and return the rest of the form."""
    if "content-type" not in request.headers:
        raise MultiPartException("The Content-Type is missing.")
    with path.open("w+b") as copy:
        parser = _FormParser(request.headers, request.stream(), max_files=1, max_fields=_MAX_FIELDS)
        parser.copy = copy
        form = await parser.parse()
    fields, part, name = dict[str, str](), "", ""
    for key, value in form.multi_items():
        if isinstance(value, UploadFile):
            part, name = key, value.filename or "file"
        else:
            fields[key] = value
    return FormUpload(fields, part, name)


class _FormParser(MultiPartParser):
    """Writes the file to ``copy``, and not to the system's folder of temporary files."""

    copy: BinaryIO

    def on_headers_finished(self) -> None:
        super().on_headers_finished()
        upload = self._current_part.file
        if upload is not None:
            upload.file.close()
            upload.file = self.copy
