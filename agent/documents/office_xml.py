"""Text of XML parts of office documents."""

import posixpath
from collections.abc import Set
from dataclasses import dataclass
from xml.etree import ElementTree

_PARAGRAPHS = {"p", "h"}
_BREAKS = {
    "tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "line-break": "\n",
    "noBreakHyphen": "-", "s": " ",
}  # fmt: skip
_SKIPPED = {
    "Fallback",  # a second form of a drawing, for older programs
    "pPr", "rPr",
    "moveFrom", "tracked-changes", "annotation",
    "lstStyle",
    "fld",  # the number of a slide, a date
}  # fmt: skip
_REFERENCES = {"footnoteReference": "footnote", "endnoteReference": "endnote"}


class TextCollector:
    """Target of an XML parser: collects the text in ``containers``, in any namespace.

    ``notes`` are by kind and id, ``references`` the numbers of those that the text cites.
    """

    def __init__(self, containers: Set[str]) -> None:
        self._containers = containers
        self._parts: list[str] = []
        self._skipped = self._inside = 0
        self._note = ""
        self.notes: dict[str, str] = {}
        self.references: dict[str, int] = {}

    @property
    def text(self) -> str:
        """The text so far; each paragraph ends with a line break."""
        return "".join(self._parts)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        name = _local(tag)
        self._skipped += name in _SKIPPED
        self._inside += name in self._containers
        if self._skipped:
            return
        if name in _PARAGRAPHS and self._parts and not self._parts[-1].endswith("\n"):
            self._parts.append("\n")  # a text box within a paragraph
        elif name in _BREAKS:
            self._parts.append(_BREAKS[name])
        elif name in _REFERENCES:
            self._refer(f"{_REFERENCES[name]} {_id(attributes)}")
        elif name in _REFERENCES.values():
            self._note, self._parts = f"{name} {_id(attributes)}", []

    def data(self, text: str) -> None:
        """Take character data."""
        if self._inside and not self._skipped:
            self._parts.append(text)

    def end(self, tag: str) -> None:
        """End an element."""
        name = _local(tag)
        if name in _PARAGRAPHS and not self._skipped:
            self._parts.append("\n")
        if name in _REFERENCES.values():
            self.notes[self._note] = self.text
        self._skipped -= name in _SKIPPED
        self._inside -= name in self._containers

    def _refer(self, note: str) -> None:
        number = self.references.setdefault(note, len(self.references) + 1)
        self._parts.append(f"[{number}]")


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of a part: its kind, such as ``notesSlide``, and the part that it leads to."""

    kind: str
    target: str


def collect_text(xml: bytes, containers: Set[str]) -> TextCollector:
    """Return the text of a part and its notes; for the arguments see ``TextCollector``."""
    collector = TextCollector(containers)
    parser = ElementTree.XMLParser(target=collector)
    parser.feed(xml)
    parser.close()
    return collector


def read_relations(xml: bytes, folder: str) -> dict[str, Relation]:
    """Return relations by id; ``folder`` is that of the part to which they belong."""
    return {
        each.get("Id", ""): Relation(
            each.get("Type", "").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, each.get("Target", ""))).lstrip("/"),
        )
        for each in ElementTree.fromstring(xml)
    }


def relation_ids(xml: bytes, element: str) -> list[str]:
    """Return the ids of the relations that elements of this name refer to, in order."""
    return [
        value
        for each in ElementTree.fromstring(xml).iter()
        if _local(each.tag) == element
        for name, value in each.attrib.items()
        if name.endswith("relationships}id")
    ]


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _id(attributes: dict[str, str]) -> str:
    return next((value for name, value in attributes.items() if _local(name) == "id"), "")
