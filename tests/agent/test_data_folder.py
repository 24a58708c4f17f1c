"""The ids of runs, comparisons and evaluations in the data folder."""

import re
import secrets
from itertools import cycle

import pytest

from agent.data_folder import random_id


def test_an_id_is_a_file_name_and_part_of_a_url_and_no_two_are_equal() -> None:
    ids = {random_id() for _ in range(2000)}
    assert len(ids) == 2000
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{15}", value) for value in ids)


def test_an_id_is_never_taken_for_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    values = cycle(["-VnFthHKq5C78GRz", "--nFthHKq5C78GRz", "VnFthHKq5C78GRz-"])
    monkeypatch.setattr(secrets, "token_urlsafe", lambda _bytes: next(values))
    assert random_id() == "VnFthHKq5C78GRz-"
