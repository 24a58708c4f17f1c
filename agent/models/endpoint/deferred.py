"""An ``EndpointModel`` whose client is imported in the background, while a sandbox starts."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.errors import ModelError
from agent.models.base import Model, ModelConfig, ModelRequest, PictureLimits, Piece
from agent.models.endpoint.learned import Learned
from agent.models.endpoint.pictures import picture_limits
from agent.models.passport.passport import Passport
from agent.models.passport.store import PassportStore
from agent.models.transport.base_url import check_key, parse_base_url
from agent.util.stop import Stop

if TYPE_CHECKING:
    from agent.models.endpoint.client import EndpointModel


class DeferredEndpointModel:
    """See ``EndpointModel``; an unusable proxy or certificate file refuses only the first turn."""

    metered = True

    def __init__(self, config: ModelConfig, passports: PassportStore | None = None) -> None:
        parse_base_url(config.base_url)
        check_key(config.api_key.strip())
        self.name, self.config = config.model, config
        self.passports = passports
        self.passport = passports.find(config.base_url, config.model) if passports else None
        self._lock = threading.Lock()
        self._loaded: EndpointModel | None = None

    @property
    def picture_limits(self) -> PictureLimits | None:
        """See ``SeeingModel``."""
        passport, loaded = self.passport, self._loaded
        learned = (
            loaded.learned if loaded else Learned.from_json(passport.learned if passport else {})
        )
        fact = passport.value("images") if passport else None
        return picture_limits(self.config, fact if isinstance(fact, bool) else None, learned)

    def preload(self) -> None:
        """See ``Preloadable.preload``."""
        threading.Thread(target=self._preload, name="model client", daemon=True).start()

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        """Stream one turn; see ``Model.stream``."""
        yield from self._load().stream(request, stop)

    def _preload(self) -> None:
        with suppress(ModelError):  # the first turn reports it
            self._load()
            if self.passport is not None and self.passports is not None:
                from agent.models.passport.renewal import renew_if_due

                renew_if_due(self.config, self.passport, self.passports)

    def _load(self) -> "EndpointModel":
        with self._lock:
            if self._loaded is None:
                from agent.models.endpoint.client import EndpointModel

                known = self.passport.learned if self.passport else {}
                config = replace(self.config, images="on" if self.picture_limits else "off")
                self._loaded = EndpointModel(config, Learned.from_json(known), self._keep)
            return self._loaded

    def _keep(self, learned: Learned) -> None:
        if self.passports is not None:
            self.passports.learn(self.config.base_url, self.config.model, learned)


def passport_of(model: Model) -> Passport | None:
    """Return a model's passport; None if it was not tested, or is not behind an endpoint."""
    passport = model.passport if isinstance(model, DeferredEndpointModel) else None
    return passport if passport is not None and passport.facts else None
