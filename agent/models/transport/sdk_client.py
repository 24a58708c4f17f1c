"""A client of one of the official packages, as a connection uses it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

USER_AGENT = "llm-in-sandbox-studio"
HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": USER_AGENT,
}
"""The headers of every request: the packages would add details of the machine."""


@dataclass(frozen=True)
class SdkClient:
    """A client of an official package. They are alike but share no types, hence ``Any``."""

    client: Any
    package: Any

    async def post(self, url: str, content: bytes, headers: Mapping[str, str]) -> Any:
        """Send a body; return the stream of the response."""
        return await self.client.post(
            url,
            cast_to=object,
            content=content,
            options={"headers": dict(headers)},
            stream=True,
            stream_cls=self.package.AsyncStream[object],
        )

    async def get(self, url: str, headers: Mapping[str, str], response_class: type) -> Any:
        """Return the response to a request without a body."""
        options = {"headers": dict(headers)}
        return await self.client.get(url, cast_to=response_class, options=options)
