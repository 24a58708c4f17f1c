"""The APIs, by name."""

from agent.models.base import ApiName
from agent.models.chat.api import ChatApi
from agent.models.endpoint.api import Api
from agent.models.messages.api import MessagesApi
from agent.models.responses.api import ResponsesApi

_APIS: dict[ApiName, Api] = {
    "chat": ChatApi(),
    "responses": ResponsesApi(),
    "messages": MessagesApi(),
}


def api_named(name: ApiName) -> Api:
    """Return an API."""
    return _APIS[name]
