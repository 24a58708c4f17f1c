"""Gradio's client of a studio with a scripted endpoint."""

import pytest
from gradio_client import Client


@pytest.fixture(scope="module")
def studio_url(scripted_url: str) -> str:
    return scripted_url


@pytest.fixture(scope="module")
def client(studio_url: str) -> Client:
    return Client(studio_url, verbose=False)
