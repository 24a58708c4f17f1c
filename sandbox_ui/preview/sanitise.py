"""Sanitising of HTML from files."""

import re

import nh3

MAX_IMAGE_LENGTH = 6_000_000  # characters of a data URL

_TAGS = (
    "p br hr em strong b i u s sub sup small mark code pre blockquote ul ol li dl dt dd h1 h2 h3 "
    "h4 h5 h6 table caption colgroup col thead tbody tfoot tr th td a img div span figure "
    "figcaption kbd samp var abbr cite q del ins details summary"
)
_DATA_IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp|bmp);base64,[A-Za-z0-9+/=\s]+")
_MARKUP = re.compile(r"<[^<>]*>|&nbsp;")
_WEB = re.compile(r"https?://", re.IGNORECASE)


def clean(html: str) -> str:
    """Keep allowed tags only; images as data URLs, links to the web and within the document."""
    return _CLEANER.clean(html)


def has_content(html: str) -> bool:
    """Return whether sanitised HTML has any visible content."""
    return "<img" in html or bool(_MARKUP.sub("", html).strip())


def _filter_attribute(_tag: str, name: str, value: str) -> str | None:
    if name == "src":
        return value if len(value) <= MAX_IMAGE_LENGTH and _DATA_IMAGE.fullmatch(value) else None
    if name == "href":
        return value if _WEB.match(value) or value.startswith("#") else None
    return value


_CLEANER = nh3.Cleaner(
    tags=set(_TAGS.split()),
    clean_content_tags={"script", "style", "template", "svg", "math", "iframe", "title"},
    attributes={
        "*": {"id"},
        "a": {"href"},
        "img": {"src", "alt"},
        "ol": {"start"},
        "th": {"colspan", "rowspan", "style"},
        "td": {"colspan", "rowspan", "style"},
    },
    attribute_filter=_filter_attribute,
    filter_style_properties={"text-align"},
    url_schemes={"http", "https", "data"},
    link_rel=None,
)
