"""The ``anthropic`` package's client, which sends nothing that is not needed."""

from urllib.parse import urlsplit

import anthropic
import httpx2

from agent.models.base import ModelConfig
from agent.models.transport.base_url import BaseUrl
from agent.models.transport.sdk_client import HEADERS, SdkClient

_OFFICIAL_HOST = "api.anthropic.com"


def create_anthropic_client(
    address: BaseUrl, config: ModelConfig, timeout: httpx2.Timeout, http: httpx2.AsyncClient
) -> SdkClient:
    """Return a client for Messages."""
    client = _Client(
        api_key=config.api_key,
        webhook_key="",
        base_url=address.display_url,
        default_query=address.query,
        max_retries=0,
        timeout=timeout,
        http_client=http,
        open_telemetry=False,
    )
    return SdkClient(client, anthropic)


class _Client(anthropic.AsyncAnthropic):
    """Sends only necessary headers: the key as ``x-api-key``, and as Bearer for gateways."""

    @property
    def auth_headers(self) -> dict[str, str]:
        return {}

    @property
    def default_headers(self) -> dict[str, str | anthropic.Omit]:
        key = self.api_key
        official = urlsplit(str(self.base_url)).hostname == _OFFICIAL_HOST
        bearer = f"Bearer {key}" if key and not official else anthropic.Omit()
        return {**HEADERS, "x-api-key": key or anthropic.Omit(), "Authorization": bearer}

    def _validate_headers(self, headers: object, omitted: object) -> None:
        """Allow requests without a key: many endpoints need none."""
