"""One prompt and its reply, outside the loop: of a judge, or of a question about a run."""

from agent.errors import ModelUnavailable
from agent.models.base import Finish, Model, ModelRequest, TextPiece, Usage, UserMessage
from agent.util.stop import Stop

_ATTEMPTS, _BACKOFF_SECONDS = 3, 1.0


def reply_to(
    prompt: str, model: Model, stop: Stop, max_tokens: int | None = None
) -> tuple[str, Usage | None]:
    """Return a model's reply and its usage; ask a busy one again. Raises ``ModelError``."""
    request = ModelRequest((UserMessage(prompt),), max_tokens=max_tokens)
    for attempt in range(1, _ATTEMPTS + 1):
        parts, usage = list[str](), None
        try:
            for piece in model.stream(request, stop):
                if isinstance(piece, TextPiece):
                    parts.append(piece.text)
                elif isinstance(piece, Finish):
                    usage = piece.usage
        except ModelUnavailable:
            if attempt == _ATTEMPTS or stop.wait(_BACKOFF_SECONDS * attempt):
                raise
        else:
            return "".join(parts), usage
    raise AssertionError("unreachable")
