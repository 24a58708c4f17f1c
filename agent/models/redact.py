"""Take a key out of what an endpoint says before anyone reads it."""

import re

SHOWN = "[key]"
"""What stands where a key stood."""

_TOKEN = re.compile(r"[^\s\"'`,;()<>{}\[\]]+")
_MASKED = re.compile(r"\*{3,}|\.{3}|…|x{6,}|•{2,}", re.IGNORECASE)
_KNOWN = re.compile(r"\b(sk|gsk|xai|hf|nvapi|AIza|pplx|key)[-_][A-Za-z0-9_\-]{12,}")
# Shorter keys are words ("none", "ollama") that stand for no key: only the word is taken out.
_PART, _WORD = 8, 4


def redact(text: str, key: str) -> str:
    """``text`` without ``key``, whole, in part or masked as endpoints like to echo it."""
    if len(key) >= _PART:
        text = text.replace(key, SHOWN)
    elif len(key) >= _WORD:
        text = re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", SHOWN, text)
    text = _TOKEN.sub(lambda match: SHOWN if _tells(match.group(), key) else match.group(), text)
    return _KNOWN.sub(SHOWN, text)


def _tells(token: str, key: str) -> bool:
    if not key or token == SHOWN:
        return False
    if any(key[at : at + _PART] in token for at in range(len(key) - _PART + 1)):
        return True
    masked = _MASKED.split(token)
    if len(masked) < 2:
        return False
    head, tail = masked[0].lstrip("("), masked[-1].rstrip(".:)")
    return "***" in token or _ends(key, head, tail)


def _ends(key: str, head: str, tail: str) -> bool:
    begins = len(head) >= 2 and key.startswith(head)
    return begins or (len(tail) >= 2 and key.endswith(tail))
