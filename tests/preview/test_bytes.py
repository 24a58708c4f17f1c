"""What has no preview of its own is never a blank pane."""

import pytest
from playwright.sync_api import expect

from tests.preview.looking import Looker

pytestmark = pytest.mark.browser


def test_the_first_bytes_are_shown(looker: Looker) -> None:
    looker.give("thing.xyz", b"\x00\x01hello" * 3)
    looker.open()
    canvas = looker.look("thing.xyz")
    expect(canvas).to_contain_text("00 01 68 65 6c 6c 6f")
    expect(canvas).to_contain_text("··hello")


def test_an_empty_file_says_so(looker: Looker) -> None:
    looker.give("empty.bin", b"")
    looker.open()
    expect(looker.look("empty.bin")).to_contain_text("empty")
