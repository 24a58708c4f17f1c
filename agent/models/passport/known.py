"""What is known of a model that is about to answer."""

from agent.models.base import Model
from agent.models.endpoint.deferred import DeferredEndpointModel
from agent.models.passport.passport import Passport


def passport_of(model: Model) -> Passport | None:
    """Return a model's passport; None if it was not tested, or is not behind an endpoint."""
    passport = model.passport if isinstance(model, DeferredEndpointModel) else None
    return passport if passport is not None and passport.facts else None
