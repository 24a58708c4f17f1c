"""These tests read what is put into a report's frame, not what the page makes of it."""

import pytest


@pytest.fixture(autouse=True)
def _frame(frame: object) -> None:
    """Use the frame without the page's modules."""
