"""The file of a report: the page's bundle, its data as JSON, and a text for readers without it.

A report loads nothing and executes one script, the bundle, which the policy names by its hash.
What a run says is compressed JSON in blocks that no browser executes.
"""

import base64
import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from pydantic_core import to_json

from agent.util.text import sanitize

_PACKAGE = Path(__file__).parents[1]
_STATIC = next(
    (each for each in (_PACKAGE / "static", _PACKAGE.parent / "static") if each.is_dir()),
    _PACKAGE / "static",
)
_FRAME = _STATIC / "bundle" / "report.html"  # made by agent/packaging/bundle_page.js
_TEXT_ONLY = (
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<!-- head -->\n'
    "<style>pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.5 monospace }"
    "</style>\n</head>\n<body>\n<!-- data -->\n</body>\n</html>\n"
)
NO_VIEW = (
    "This report is only a text, since the page’s modules were not bundled where it was made: "
    "“make run” bundles them."
)
_SCRIPT = re.compile(r"<script>(.*)</script>", re.DOTALL)


def document(title: str, plain: Iterable[str], blocks: Iterable[str]) -> Iterator[str]:
    """Yield the parts of a report; ``plain`` is its text for readers without scripts."""
    frame = _frame()
    before, after = frame.split("<!-- data -->")
    yield before.replace("<!-- head -->", _head(title, frame), 1)
    if frame is _TEXT_ONLY:
        yield f"<p>{NO_VIEW}</p>\n<pre>"
        yield from map(_text, plain)
        yield "</pre>"
    else:
        yield '<noscript><pre class="plain">'
        yield from map(_text, plain)
        yield "</pre></noscript>\n"
        yield from blocks
    yield after


def json_block(name: str, value: object) -> str:
    """Return a block of JSON, compressed, which the script reads by its name."""
    return "".join(data_block(name, [zlib.compress(to_json(value, inf_nan_mode="null"), 3)]))


def data_block(name: str, pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield a block of bytes in base64; the pieces may have any length."""
    yield f'<script type="text/plain" id="{name}">'
    rest = b""
    for piece in pieces:
        joined = rest + piece
        whole = len(joined) - len(joined) % 3
        rest = joined[whole:]
        yield base64.b64encode(joined[:whole]).decode()
    yield f"{base64.b64encode(rest).decode()}</script>\n"


def _text(part: str) -> str:
    return escape(sanitize(part))


def _frame() -> str:
    """Return the bundle; without one a frame for the text alone."""
    try:
        return _FRAME.read_text(encoding="utf-8")
    except FileNotFoundError:
        return _TEXT_ONLY


def _head(title: str, frame: str) -> str:
    script = _SCRIPT.search(frame)
    name = escape(sanitize(" ".join(title.split())[:200]))
    return (
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        '<meta http-equiv="x-dns-prefetch-control" content="off">'
        '<meta name="generator" content="LLM-in-Sandbox Studio">'
        f"<title>{name}</title>"
    )


def _policy(script: re.Match[str] | None) -> str:
    allowed = "'none'"
    if script is not None:
        digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
        allowed = f"'sha256-{digest}'"
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {allowed}",
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "media-src blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
