"""Characters beyond the basic plane whose escaped halves arrive in two fragments."""

from agent.util.text import replace_surrogates


class SurrogateJoiner:
    """Joins the halves of split characters in one text; a lone half becomes ``U+FFFD``."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """Return the next characters, without a first half at the end."""
        if self._half and "\udc00" <= text[:1] <= "\udfff":
            pair = (self._half + text[0]).encode("utf-16-le", "surrogatepass")
            text = pair.decode("utf-16-le") + text[1:]
        else:
            text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return replace_surrogates(text[: len(text) - len(self._half)])

    def flush(self) -> str:
        """Return what was held back."""
        half, self._half = self._half, ""
        return replace_surrogates(half)
