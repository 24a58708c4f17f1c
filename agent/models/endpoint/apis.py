"""The APIs, by name."""

from collections.abc import Mapping

from agent.models.base import ApiName
from agent.models.chat.api import CHAT
from agent.models.endpoint.api import Api
from agent.models.messages.api import MESSAGES
from agent.models.responses.api import RESPONSES

APIS: Mapping[ApiName, Api] = {each.name: each for each in (CHAT, RESPONSES, MESSAGES)}
