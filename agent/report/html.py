"""Markup: elements whose texts are escaped, and the frame of a report's file.

A report executes one script, its own, which the policy names by its hash. Nothing is loaded from
anywhere: images and media are data.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from html import escape
from pathlib import Path

from pydantic_core import to_json

from agent.report.redaction import Redactor
from agent.util.text import sanitize

_PACKAGE = Path(__file__).parents[1]
_STATIC = next(
    (each for each in (_PACKAGE / "static", _PACKAGE.parent / "static") if each.is_dir()),
    _PACKAGE / "static",
)
_SCRIPT = _STATIC / "bundle" / "report.js"
_STYLES = ("core/tokens.css", "playback/track.css", "report/report.css")
_VOID = frozenset({"img", "meta", "br", "hr"})
_DARK = re.compile(r'html:root\[data-theme="dark"\]\s*(\{[^}]*\})')
NO_PLAYER = (
    "This report has no player, since the page’s modules were not bundled where it was made: "
    "“make run” bundles them."
)


class Data(str):
    """Data in base64, or the script: what is not redacted."""

    __slots__ = ()


class Html(str):
    """Markup, which is not escaped again."""

    __slots__ = ()


def el(name: str, /, *children: str | None, **attributes: object) -> Html:
    """Return an element; texts and attributes are escaped, ``Html`` is not.

    Args:
        name: The element's name.
        children: Its content; None is left out.
        attributes: Its attributes: ``_`` becomes ``-``, ``class_`` is ``class``; None and False are
            left out, True has no value.
    """
    shown = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{markup(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Html(f"<{name}{shown}>")
    return Html(f"<{name}{shown}>{join(*children)}</{name}>")


def join(*children: str | None) -> Html:
    """Return markup and texts one after the other."""
    return Html("".join(markup(each) for each in children if each is not None))


def markup(text: str) -> Html:
    """Return a text escaped; markup as it is."""
    return text if isinstance(text, Html) else Html(escape(sanitize(text)))


def redacted(parts: Iterable[str], redactor: Redactor) -> Iterator[str]:
    """Yield a file's parts without keys and home folders; each part is whole elements or data."""
    for part in parts:
        yield part if isinstance(part, Data) else redactor.redact(part)


def base64_chunks(pieces: Iterable[bytes]) -> Iterator[Data]:
    """Yield data in base64; the pieces may have any length."""
    rest = b""
    for piece in pieces:
        joined = rest + piece
        whole = len(joined) - len(joined) % 3
        rest = joined[whole:]
        yield Data(base64.b64encode(joined[:whole]).decode())
    yield Data(base64.b64encode(rest).decode())


def document(title: str, body: Iterable[str], data: Callable[[], object]) -> Iterator[str]:
    """Yield the parts of a report's file.

    Args:
        title: Its title.
        body: The parts of its content.
        data: Returns what its script reads, as JSON values; it is called after the body.
    """
    script = _script()
    yield Html('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n')
    yield join(
        el("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", http_equiv="x-dns-prefetch-control", content="off"),
        el("meta", name="generator", content="LLM-in-Sandbox Studio"),
        el("title", " ".join(title.split())[:200]),
    )
    yield Html(f"\n<style>\n{_styles()}</style>\n</head>\n<body>\n")
    yield from body
    if not script:
        yield el("p", NO_PLAYER, class_="left-out no-player")
    text = to_json(data(), inf_nan_mode="null").decode().replace("<", "\\u003c")
    yield Html(f'\n<script type="application/json" id="report-data">{text}</script>')
    yield Data(f"\n<script>{script}</script>\n</body>\n</html>\n")


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'sha256-{digest}'",
            "style-src 'unsafe-inline'",
            "img-src data:",
            "media-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _script() -> str:
    """Return the report's script; empty if it was not bundled."""
    try:
        return _SCRIPT.read_text(encoding="utf-8").replace("</script", "<\\/script")
    except FileNotFoundError:
        return ""


@cache
def _styles() -> str:
    """Return the style sheet; the dark colours also apply where the system asks for them."""
    text = "\n".join((_STATIC / name).read_text(encoding="utf-8") for name in _STYLES)
    return _DARK.sub(
        r'@media screen { html:root[data-theme="dark"] \1 }\n'
        r"@media screen and (prefers-color-scheme: dark) "
        r'{ html:root:not([data-theme="light"]) \1 }',
        text,
    )
