"""HTML pages, shown in a frame: title and external resources."""

import re
from html import unescape
from typing import BinaryIO
from urllib.parse import urlsplit

from sandbox_ui.preview.base import Preview, PreviewRequest

_MAX_READ_BYTES = 512 * 1024
_MAX_URLS = 40
_MAX_URL_LENGTH = 300
_TAG = re.compile(
    r"<(?:script|img|iframe|source|video|audio|track|embed|input)\b[^<>]{0,2000}?\s"
    r"(?:src|poster)\s*=\s*[\"']?((?:https?:)?//[^\s\"'<>]{1,2000})",
    re.I,
)
_LINK = re.compile(r"<link\b[^<>]{0,2000}>", re.I)
_LOADING_REL = re.compile(
    r"\brel\s*=\s*[\"']?[^\"'>]{0,60}\b(?:stylesheet|preload|modulepreload)\b", re.I
)
_HREF = re.compile(r"\bhref\s*=\s*[\"']?((?:https?:)?//[^\s\"'<>]{1,2000})", re.I)
_STYLE = re.compile(r"(?:url\(\s*|@import\s+)[\"']?((?:https?:)?//[^\s\"'<>)]{1,2000})", re.I)
_TITLE = re.compile(r"<title[^>]{0,400}>(.{1,400}?)</title", re.I | re.S)


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return the page's title and the addresses in its source; the frame reports its requests."""
    text = file.read(_MAX_READ_BYTES).decode("utf-8", "replace")
    title = _TITLE.search(text)
    title_text = " ".join(unescape(title[1]).split())[:120] if title else ""
    return {"title": title_text, "external_urls": external_urls(text), "size": request.size}


def external_urls(text: str) -> list[str]:
    """Return the distinct external addresses that a page's source loads."""
    found = [each[1] for each in _TAG.finditer(text)]
    for link in _LINK.finditer(text):
        if _LOADING_REL.search(link[0]) and (href := _HREF.search(link[0])):
            found.append(href[1])
    found += [each[1] for each in _STYLE.finditer(text)]
    urls = (unescape(each) for each in found)
    urls = (f"https:{each}" if each.startswith("//") else each for each in urls)
    return list(dict.fromkeys(each[:_MAX_URL_LENGTH] for each in urls if _host(each)))[:_MAX_URLS]


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
