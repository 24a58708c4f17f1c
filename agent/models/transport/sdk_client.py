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
    """A client of an official package.

    The packages are alike but share no types, hence ``Any``.

    Attributes:
        package_client: The package's client.
        stream_class: The package's stream of an object.
        connection_error: Its error for requests that got no response.
        status_error: Its error for responses with an error status.
        any_error: Its error of any kind.
    """

    package_client: Any
    stream_class: Any
    connection_error: type[Exception]
    status_error: type[Any]
    any_error: type[Any]

    async def post(self, url: str, content: bytes, headers: Mapping[str, str]) -> Any:
        """Send a body; return the stream of the response."""
        return await self.package_client.post(
            url,
            cast_to=object,
            content=content,
            options={"headers": dict(headers)},
            stream=True,
            stream_cls=self.stream_class,
        )

    async def get(self, url: str, headers: Mapping[str, str], response_class: type) -> Any:
        """Return the response to a request without a body."""
        options = {"headers": dict(headers)}
        return await self.package_client.get(url, cast_to=response_class, options=options)
