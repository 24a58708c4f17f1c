"""Send spans to an OpenTelemetry collector, as OTLP over HTTP with JSON."""

from collections.abc import Iterable
from urllib.parse import unquote, urlsplit, urlunsplit

from agent.errors import TraceError

_PATH = "/v1/traces"
_TIMEOUT_SECONDS = 60.0
_MAX_ANSWER = 300


def send_spans(parts: Iterable[str], endpoint: str, headers: str = "") -> str:
    """Send spans to a collector; return the URL without user and query."""
    import httpx2  # slow to import

    split = urlsplit(endpoint)
    path = f"{split.path.rstrip('/')}{_PATH}"
    url = urlunsplit(split._replace(path=path))
    shown = urlunsplit((split.scheme, split.netloc.rpartition("@")[2], path, "", ""))
    body = (part.encode("utf-8", "backslashreplace") for part in parts)
    try:
        answer = httpx2.post(
            url,
            content=body,
            headers={**_parse(headers), "Content-Type": "application/json"},
            timeout=_TIMEOUT_SECONDS,
        )
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise TraceError(f"The spans could not be sent to {shown}: {error}") from error
    if not answer.is_success:
        why = " ".join(answer.text[:_MAX_ANSWER].split())
        raise TraceError(f"{shown} refused the spans with status {answer.status_code}: {why}")
    return shown


def _parse(headers: str) -> dict[str, str]:
    pairs = (item.partition("=") for item in headers.split(",") if "=" in item)
    return {unquote(name.strip()): unquote(value.strip()) for name, _, value in pairs}
