"""The ``openai`` package's client, which sends nothing that is not needed."""

import httpx2

from agent.models.base import ModelConfig
from agent.models.transport.base_url import BaseUrl
from agent.models.transport.sdk import (
    APIConnectionError,
    APIError,
    APIStatusError,
    AsyncOpenAI,
    AsyncStream,
    Omit,
)
from agent.models.transport.sdk_client import HEADERS, SdkClient


def create_openai_client(
    address: BaseUrl, config: ModelConfig, timeout: httpx2.Timeout, http: httpx2.AsyncClient
) -> SdkClient:
    """Return a client for Chat Completions and Responses."""
    client = _Client(
        api_key=config.api_key,
        admin_api_key="",
        organization="",
        project="",
        webhook_secret="",
        base_url=address.display_url,
        default_query=address.query,
        max_retries=0,
        timeout=timeout,
        http_client=http,
    )
    return SdkClient(client, AsyncStream[object], APIConnectionError, APIStatusError, APIError)


class _Client(AsyncOpenAI):
    """A client that sends only the necessary headers, and a key only if there is one."""

    @property
    def default_headers(self) -> dict[str, str | Omit]:
        key = f"Bearer {self.api_key}" if self.api_key else Omit()
        return {**HEADERS, "Authorization": key}

    def _validate_headers(self, headers: object, custom_headers: object) -> None:
        """Allow requests without a key: many endpoints need none."""
