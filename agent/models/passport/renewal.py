"""Renewal of a passport whose server says something else of the model than it did at the test."""

import threading
import time
from dataclasses import replace

from agent.errors import ModelError
from agent.models.base import ModelConfig
from agent.models.passport.passport import Passport
from agent.models.passport.probe import ask_server, fetch_list
from agent.models.passport.server_facts import ServerFacts
from agent.models.passport.store import PassportStore

_CHECK_SECONDS = 600.0
_MAX_CHECKED = 1000
_checked: dict[tuple[str, str], float] = {}
_lock = threading.Lock()


def renew_if_due(config: ModelConfig, passport: Passport, passports: PassportStore) -> None:
    """Do as ``renew``, at most every ten minutes for each endpoint and model."""
    key, now = (passport.base_url, passport.model), time.time()
    with _lock:
        if now - max(passport.tested, _checked.get(key, 0.0)) < _CHECK_SECONDS:
            return
        if len(_checked) >= _MAX_CHECKED:
            _checked.clear()
        _checked[key] = now
    renew(config, passport, passports)


def renew(config: ModelConfig, passport: Passport, passports: PassportStore) -> Passport:
    """Ask the server again what it says of the model, and mark the passport if that has changed."""
    if not passport.facts:
        return passport
    try:
        said = ask_server(config, fetch_list(config))
    except ModelError:
        return passport
    if not _differs(passport, said):
        return passport
    known = {name: fact for name, fact in said.facts.items() if fact.value is not None}
    changed = replace(
        passport,
        facts={**passport.facts, **known},
        listing=said.listing,
        changed=time.time(),
    )
    passports.renew(changed)
    return changed


def _differs(passport: Passport, said: ServerFacts) -> bool:
    """Return whether the list's entry differs, or a fact that was known then and is known now."""
    known = {name: fact.value for name, fact in said.facts.items() if fact.value is not None}
    return said.listing != passport.listing or any(
        before != value
        for name, value in known.items()
        if (before := passport.value(name)) is not None
    )
