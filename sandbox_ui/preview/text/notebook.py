"""Jupyter notebooks, format versions 3 and 4: cells and their outputs."""

import base64
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from sandbox_ui.preview.base import BinaryPreview, Preview, PreviewError, PreviewRequest
from sandbox_ui.preview.sanitise import clean, has_content
from sandbox_ui.preview.text.highlight import highlight_lines, lexer_for_language
from sandbox_ui.preview.text.markdown import render_cell, render_model_text

MAX_PAGE_CELLS = 200  # per response; fewer if they are large
MAX_TEXT_LENGTH = 60_000  # of a cell or of one output
MAX_HTML_LENGTH = 400_000
MAX_IMAGE_LENGTH = 24 * 1024**2  # encoded with base64
_MAX_PAGE_LENGTH = 2_000_000
_MAX_OUTPUTS = 200
_MAX_HIGHLIGHTED_LENGTH = 40_000
_IMAGE_TYPES = {
    **{f"image/{name}": f"image/{name}" for name in ("png", "jpeg", "gif", "webp", "svg+xml")},
    "png": "image/png", "jpeg": "image/jpeg", "svg": "image/svg+xml",
}  # fmt: skip
_INTERACTIVE_TYPES = (
    "application/vnd.jupyter.widget-view+json", "application/vnd.plotly.v1+json",
    "application/javascript", "application/vnd.bokehjs_exec.v0+json",
)  # fmt: skip
_Cell = dict[str, Any]


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return cells from ``start`` on, or the image ``image`` (``cell,output,type``)."""
    notebook = _read(file.read(request.size))
    cells = list(_cells(notebook))
    if "image" in request.options:
        return _image(cells, request.options["image"])
    start = request.int_option("start")
    language = _language(notebook)
    shown, size = [], 0
    for at in range(start, min(start + MAX_PAGE_CELLS, len(cells))):
        shown.append(_cell(cells[at], language))
        size += len(json.dumps(shown[-1]))
        if size > _MAX_PAGE_LENGTH:
            break
    return {"start": start, "cells": shown, "total": len(cells), "language": language[:40]}


def _read(content: bytes) -> dict[str, Any]:
    if not content.strip():
        raise PreviewError("This notebook is empty.")
    try:
        notebook = json.loads(content.decode("utf-8-sig", "replace"))
    except json.JSONDecodeError as error:
        raise PreviewError(
            f"This notebook is damaged or truncated: invalid JSON from line {error.lineno} on."
        ) from None
    except RecursionError:
        raise PreviewError("This notebook is nested too deeply to be read.") from None
    if isinstance(notebook, dict) and ("cells" in notebook or "worksheets" in notebook):
        return notebook
    raise PreviewError("This is JSON, but not a notebook.")


def _cells(notebook: dict[str, Any]) -> Iterator[_Cell]:
    sheets = [notebook, *_list(notebook.get("worksheets"))]
    for sheet in sheets:
        for cell in _list(sheet.get("cells")) if isinstance(sheet, dict) else ():
            if isinstance(cell, dict):
                yield cell


def _language(notebook: dict[str, Any]) -> str:
    metadata = _dict(notebook.get("metadata"))
    for part, name in (("language_info", "name"), ("kernelspec", "language")):
        found = _dict(metadata.get(part)).get(name)
        if isinstance(found, str) and found:
            return found
    return "python"


def _cell(cell: _Cell, language: str) -> dict[str, Any]:
    kind = cell.get("cell_type")
    source, omitted = _truncate(_text(cell.get("source", cell.get("input"))), MAX_TEXT_LENGTH)
    if kind == "heading":
        source = f"{'#' * min(max(_number(cell.get('level')) or 1, 1), 6)} {source}"
    if kind in ("markdown", "heading"):
        html = render_cell(source, dict(_attachments(cell)))
        return {"kind": "markdown", "html": html, "omitted": omitted}
    if kind != "code":
        return {"kind": "raw", "rows": [[line] for line in source.split("\n")], "omitted": omitted}
    outputs = _list(cell.get("outputs"))
    lexer = lexer_for_language(str(cell.get("language") or language))
    used_lexer = lexer if len(source) <= _MAX_HIGHLIGHTED_LENGTH else None
    return {
        "kind": "code",
        "count": _number(cell.get("execution_count", cell.get("prompt_number"))),
        "rows": highlight_lines(source.split("\n"), used_lexer) if source else [],
        "omitted": omitted,
        "outputs": [_output(_dict(output)) for output in outputs[:_MAX_OUTPUTS]],
        "more_outputs": max(0, len(outputs) - _MAX_OUTPUTS),
    }


def _attachments(cell: _Cell) -> Iterator[tuple[str, str]]:
    """Yield the names of a cell's attached images, and their data URLs."""
    for name, contents in _dict(cell.get("attachments")).items():
        for media_type, content in _dict(contents).items():
            if media_type in _IMAGE_TYPES.values():
                encoded = "".join(_text(content).split())
                yield name, f"data:{media_type};base64,{encoded}"


def _output(output: dict[str, Any]) -> dict[str, Any]:
    kind = output.get("output_type")
    if kind == "stream":
        is_error = output.get("name", output.get("stream")) == "stderr"
        return {**_text_output(_text(output.get("text"))), "error": is_error}
    if kind in ("error", "pyerr"):
        trace = "\n".join(_text(line) for line in _list(output.get("traceback")))
        summary = f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
        return {**_text_output(trace or summary), "error": True}
    return _rich_output({**output, **_dict(output.get("data"))})


def _rich_output(data: dict[str, Any]) -> dict[str, Any]:
    """Return the richest displayable representation of an output."""
    for name in _IMAGE_TYPES:
        if name in data and len(_text(data[name])) <= MAX_IMAGE_LENGTH:
            return {"kind": "image", "type": name, "alt": _text(data.get("text/plain"))[:200]}
    html = _text(data.get("text/html", data.get("html")))
    if html and len(html) <= MAX_HTML_LENGTH:
        cleaned = clean(html)
        if has_content(cleaned):
            return {"kind": "html", "html": cleaned}
    for name in ("text/markdown", "text/latex", "latex"):
        text = _text(data.get(name))
        if text and len(text) <= MAX_TEXT_LENGTH:
            return {"kind": "html", "html": render_model_text(text)}
    plain = data.get("text/plain", data.get("text", data.get("application/json")))
    interactive = any(name in data for name in _INTERACTIVE_TYPES) or bool(html)
    result = _text_output(
        plain if isinstance(plain, list | str) else json.dumps(plain) if plain else ""
    )
    return {**result, "interactive": interactive}


def _text_output(text: Any) -> dict[str, Any]:
    printed = _apply_carriage_returns(_text(text)).removesuffix("\n")
    shown, omitted = _truncate(printed, MAX_TEXT_LENGTH)
    return {"kind": "text", "rows": highlight_lines(shown.split("\n"), None), "omitted": omitted}


def _apply_carriage_returns(text: str) -> str:
    """Return the text a terminal would show after carriage returns overwrite lines."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)


def _image(cells: list[_Cell], path: str) -> BinaryPreview:
    at, _, rest = path.partition(",")
    number, _, name = rest.partition(",")
    try:
        output = _dict(_list(cells[int(at)].get("outputs"))[int(number)])
        content = _text({**output, **_dict(output.get("data"))}[name])
        media_type = _IMAGE_TYPES[name]
        if media_type == "image/svg+xml":
            return BinaryPreview(content.encode(), media_type)
        return BinaryPreview(base64.b64decode(content), media_type)
    except (KeyError, IndexError, ValueError):
        raise PreviewError("This image is missing or damaged.") from None


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _truncate(text: str, limit: int) -> tuple[str, int]:
    return text[:limit], max(0, len(text) - limit)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
