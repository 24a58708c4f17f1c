"""Models that the endpoint serves: each connected one, plain and with a sandbox."""

import threading
import time
from typing import Any

from agent.models.builtin.install import BUILTIN_ID, find_files
from agent.runs.spec import RunSpec
from agent.settings import Settings
from sandbox_ui.auth.user import User
from sandbox_ui.openai_api.errors import ApiError
from sandbox_ui.openai_api.parameters import SANDBOX_SUFFIX
from sandbox_ui.runs.service import RunRequest, model_config

_LIST_SECONDS = 60.0


class ModelCatalogue:
    """The connected models: the operator's endpoint and the built-in model."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._started = int(time.time())
        self._lock = threading.Lock()
        self._names: list[str] = []
        self._listed = float("-inf")

    def list_models(self, user: User) -> list[dict[str, Any]]:
        """Return all models as objects of the API."""
        names = self._endpoint_names(user)
        if self._settings.builtin and find_files() is not None:
            names = [*names, BUILTIN_ID]
        return [
            self._describe(f"{name}{suffix}") for name in names for suffix in ("", SANDBOX_SUFFIX)
        ]

    def find(self, model: str, user: User) -> dict[str, Any]:
        """Return the model with an id as an object of the API."""
        for each in self.list_models(user):
            if each["id"] == model:
                return each
        raise ApiError(
            f"There is no model “{model[:200]}” here. GET /v1/models lists the models.",
            404,
            param="model",
            code="model_not_found",
        )

    def _describe(self, model: str) -> dict[str, Any]:
        return {
            "id": model,
            "object": "model",
            "created": self._started,
            "owned_by": "llm-in-sandbox-studio",
        }

    def _endpoint_names(self, user: User) -> list[str]:
        """Return the operator's model, or the endpoint's models if the operator names none."""
        settings = self._settings
        if not settings.base_url.strip():
            return []
        if settings.model:
            return [settings.model]
        from agent.models.passport import probe  # slow to import, and rarely needed

        with self._lock:
            if time.monotonic() - self._listed > _LIST_SECONDS:
                self._names = probe.list_models(model_config(RunRequest(RunSpec()), settings, user))
                self._listed = time.monotonic()
            return self._names
