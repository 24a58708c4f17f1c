"""Characters beyond the basic plane whose escaped halves arrive in two fragments."""

from agent.util.text import replace_surrogates


class SurrogateJoiner:
    """Joins the halves of split characters in one text; a lone half becomes ``U+FFFD``."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """Return the next characters, without a first half at the end."""
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return replace_surrogates(text[: len(text) - len(self._half)])

    def flush(self) -> str:
        """Return what was held back."""
        half, self._half = self._half, ""
        return replace_surrogates(half)
