"""The passports of a data folder, without keys: files replaced atomically, under a lock."""

import fcntl
import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from agent.errors import ModelRefused
from agent.models.endpoint.learned import Learned
from agent.models.passport.passport import Passport, from_json
from agent.models.transport.base_url import parse_base_url

_MAX_BYTES = 256 * 1024
_MAX_FILES = 1000
_log = logging.getLogger(__name__)


class PassportStore:
    """The passports in a data folder, which need not exist and need not be locked."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "passports"

    def find(self, base_url: str, model: str) -> Passport | None:
        """Return the passport of a model at an endpoint; None if it has none."""
        file = self._file(base_url, model)
        if file is None:
            return None
        try:
            with file.open("rb") as opened:
                found = from_json(json.loads(opened.read(_MAX_BYTES)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            _log.warning("%s cannot be read: %s", file, error)
            return None
        return found if found.model == model else None

    def put(self, passport: Passport) -> None:
        """Store a passport in place of the last one; a failing disk is logged."""
        self._change(passport.base_url, passport.model, lambda _: passport)

    def renew(self, passport: Passport) -> None:
        """Store a passport, unless the model was tested again or forgotten in the meantime."""

        def change(known: Passport | None) -> Passport | None:
            if known is None or known.tested != passport.tested:
                return known
            return replace(passport, learned=known.learned)

        self._change(passport.base_url, passport.model, change)

    def learn(self, base_url: str, model: str, learned: Learned) -> None:
        """Add what refusals taught, so that the next run does not pay again."""

        def change(known: Passport | None) -> Passport:
            known = known or Passport(base_url=_display(base_url), model=model)
            merged = Learned.from_json(known.learned).merged(learned)
            return replace(known, learned=merged.to_json())

        self._change(base_url, model, change)

    def _change(
        self, base_url: str, model: str, change: Callable[[Passport | None], Passport | None]
    ) -> None:
        file = self._file(base_url, model)
        if file is None:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._locked():
                passport = change(self.find(base_url, model))
                content = json.dumps(passport.to_json()).encode() if passport else b""
                if 0 < len(content) <= _MAX_BYTES:
                    self._replace(file, content)
                self._remove_oldest()
        except OSError as error:
            _log.warning("The passport of %s cannot be stored: %s", model, error)

    def _replace(self, file: Path, content: bytes) -> None:
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as partial:
            try:
                partial.write(content)
                partial.flush()
                os.fsync(partial.fileno())
                Path(partial.name).replace(file)
            except BaseException:
                Path(partial.name).unlink(missing_ok=True)
                raise

    def _remove_oldest(self) -> None:
        files = list(self._folder.glob("*.json"))
        if len(files) > _MAX_FILES:
            for each in sorted(files, key=_modified)[: len(files) - _MAX_FILES]:
                each.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self._folder / "lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _file(self, base_url: str, model: str) -> Path | None:
        url = _display(base_url)
        if not url or not model:
            return None
        digest = hashlib.sha256(f"{url}\n{model}".encode("utf-8", "replace")).hexdigest()
        return self._folder / f"{digest[:40]}.json"


def _display(base_url: str) -> str:
    """Return a URL without its query, which may have a secret; empty if it is none."""
    with suppress(ModelRefused):
        return parse_base_url(base_url).display_url
    return ""


def _modified(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
