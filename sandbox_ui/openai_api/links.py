"""Links to the files that a run has made, and where an answer names them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_ui.openai_api.files import ProducedFile
from sandbox_ui.openai_api.progress import RoundProgress


@dataclass(frozen=True, slots=True)
class FileLink:
    """A link to a produced file, and where the answer names it; its end if it does not."""

    file: ProducedFile
    url: str
    start: int
    end: int


def link_files(files: Sequence[ProducedFile], answer: str, base_url: str) -> list[FileLink]:
    """Return links to files."""
    links = []
    for file in files:
        start, end = _position(answer, file.name)
        links.append(FileLink(file, f"{base_url}/files/{file.ref.id}/content", start, end))
    return links


def describe_run(progress: RoundProgress, links: Sequence[FileLink]) -> dict[str, Any]:
    """Return the field ``sandbox`` of an answer: what OpenAI's fields have no place for."""
    return {
        "run": progress.run,
        "mode": progress.mode,
        "status": progress.status,
        "reason": progress.reason or None,
        "steps": progress.steps,
        "notices": progress.notices,
        "files": [
            {
                "id": link.file.ref.id,
                "filename": link.file.name,
                "bytes": link.file.size,
                "url": link.url,
            }
            for link in links
        ],
    }


def _position(answer: str, name: str) -> tuple[int, int]:
    for text in (f"output/{name}", name):
        if (start := answer.find(text)) >= 0:
            return start, start + len(text)
    return len(answer), len(answer)
