"""What is read from the answers of a server about its models."""

import pytest

from agent.models.passport.server_facts import model_names


@pytest.mark.parametrize("name", ["\x1b[2Jm", "m\ud800", "m\u202ex", "m\n", ""])
def test_a_name_that_cannot_be_shown_or_sent_is_not_listed(name: str) -> None:
    assert model_names({"data": [{"id": name}, {"id": "qwen3:8b"}]}) == ["qwen3:8b"]
