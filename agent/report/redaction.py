"""Redaction of keys and home folders in what leaves this machine."""

import re
from collections.abc import Iterable
from functools import lru_cache

from agent.models.transport.redaction import MIN_KEY_LENGTH, REPLACEMENT

_KEY = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"sk-[A-Za-z0-9_-]{16,}"  # OpenAI, Anthropic, OpenRouter, DeepSeek
    r"|hf_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{20,}"
    r"|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{18,}"
    r"|AIza[A-Za-z0-9_-]{30,}|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|pypi-[A-Za-z0-9_-]{40,}|npm_[A-Za-z0-9]{30,}"
    r")"
)
_KEY_STARTS = (
    "sk-", "hf_", "gsk_", "xai-", "r8_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_",
    "glpat-", "AIza", "AKIA", "ASIA", "xox", "pypi-", "npm_",
)  # fmt: skip
# The text may be escaped HTML: a match never contains the marks of a tag or an attribute.
_BEARER = re.compile(
    r"((?i:authorization)(?:[^\w<>]|quot|#x27){1,24}(?i:bearer)\s{1,4})[A-Za-z0-9._~+/-]{8,}=*"
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN ([A-Z ]{0,30}PRIVATE KEY)-----[^<>\"]{0,20000}?(?:-----END \1-----|(?=[<>\"])|\Z)"
)
_HOME = re.compile(r"(?<![\w.~-])/(?:home|Users)/[^/\s\"'<>&:;,)\\]{1,64}")
_WINDOWS_HOME = re.compile(r"\b[A-Za-z]:(\\{1,2})Users\1[^\\\s\"'<>&:;,)]{1,64}")

_SHORT = 40
_MIN_LENGTH = min(MIN_KEY_LENGTH, len("/home/x"))


class Redactor:
    """Replaces keys by ``[key]`` and home folders by ``~``."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._keys = tuple(key for key in keys if len(key) >= MIN_KEY_LENGTH)
        self._redact_short = lru_cache(1_000)(self._redact)  # names are repeated

    def redact(self, text: str) -> str:
        """Return the text without keys and home folders."""
        if len(text) < _MIN_LENGTH:
            return text
        return self._redact_short(text) if len(text) < _SHORT else self._redact(text)

    def _redact(self, text: str) -> str:
        for key in self._keys:
            text = text.replace(key, REPLACEMENT)
        if any(map(text.__contains__, _KEY_STARTS)):
            text = _KEY.sub(REPLACEMENT, text)
        if "PRIVATE KEY" in text:
            text = _PRIVATE_KEY.sub(REPLACEMENT, text)
        if "earer" in text or "EARER" in text:
            text = _BEARER.sub(rf"\1{REPLACEMENT}", text)
        if "/home/" in text or "/Users/" in text:
            text = _HOME.sub("~", text)
        return _WINDOWS_HOME.sub("~", text) if "Users\\" in text else text
