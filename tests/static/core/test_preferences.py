"""The settings: what the browser remembers (never the API key), and the Test button."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support.component.stage import Stage
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.server import serve_studio
from tests.support.tab import StudioTab, open_studio

pytestmark = pytest.mark.component

SECRET = "sk-entered-by-hand"
STORED = "JSON.stringify([{...localStorage}, {...sessionStorage}])"
OPERATORS, OTHER = "http://house.test/v1", "http://127.0.0.1:9/v1"


@pytest.fixture
def settings(stage: Stage) -> Stage:
    """The page with its settings opened; the operator has an endpoint."""
    stage.settings = {"base_url": OPERATORS, "model": "house-model", "max_steps": 40}
    stage.mount("header", "notice")
    stage.button("Settings").click()
    return stage


def reload(settings: Stage) -> None:
    settings.reload()
    settings.button("Settings").click()


def drawer(tab: Stage | StudioTab) -> Locator:
    return tab.page.get_by_role("dialog", name="Settings")


def field(tab: Stage | StudioTab, name: str) -> Locator:
    label = drawer(tab).get_by_label(name, exact=isinstance(tab, Stage))  # Gradio's have notes
    return label.first


def test_settings_survive_a_reload_but_the_api_key_does_not(settings: Stage) -> None:
    chosen = {
        "Endpoint": OTHER, "Maximum steps": "7", "Mode": "plain", "Network": "listed",
        "Allowed hosts": "pypi.org .debian.org",
    }  # fmt: skip
    expect(field(settings, "API key")).to_have_attribute("type", "password")
    for name, value in {**chosen, "API key": SECRET}.items():
        field(settings, name).fill(value)
    stored = settings.page.evaluate(STORED)
    assert SECRET not in stored
    assert "house-model" not in stored  # the operator's values may change
    reload(settings)
    for name, value in {**chosen, "API key": ""}.items():
        expect(field(settings, name)).to_have_value(value)
    assert SECRET not in settings.page.evaluate(STORED)


def test_the_api_key_is_cleared_when_the_endpoint_changes(settings: Stage) -> None:
    key = field(settings, "API key")
    field(settings, "Endpoint").fill(OTHER)
    key.fill(SECRET)
    field(settings, "Endpoint").fill(f"{OTHER}/v2")
    key.focus()
    expect(key).to_have_value(SECRET)
    field(settings, "Endpoint").fill("https://elsewhere.example/v1")
    key.focus()
    expect(key).to_have_value("")
    expect(settings.page.get_by_text("Key cleared because the endpoint changed")).to_be_visible()


def test_settings_can_be_reset(settings: Stage) -> None:
    field(settings, "Endpoint").fill(OTHER)
    field(settings, "API key").fill(SECRET)
    assert OTHER in settings.page.evaluate(STORED)
    settings.button("Reset settings").click()
    expect(field(settings, "Endpoint")).to_have_value(OPERATORS)
    expect(field(settings, "API key")).to_have_value("")
    assert OTHER not in settings.page.evaluate(STORED)


@pytest.mark.parametrize("url", [f"{OTHER}?api-key=hidden", "http://me:hidden@models.test/v1"])
def test_an_endpoint_url_that_may_contain_a_secret_is_not_stored(settings: Stage, url: str) -> None:
    field(settings, "Endpoint").fill(url)
    field(settings, "Maximum steps").fill("9")
    stored = settings.page.evaluate(STORED)
    assert "max_steps" in stored
    assert "hidden" not in stored


def test_an_invalid_stored_value_is_ignored(settings: Stage) -> None:
    stored = {
        "prompt": "gone", "max_steps": 4000, "mode": {}, "temperature": "hot", "top_p": 0.5,
    }  # fmt: skip
    script = "value => localStorage.setItem('studio-settings', value)"
    settings.page.evaluate(script, json.dumps(stored))
    reload(settings)
    for name, value in {
        "Maximum steps": "40", "Prompt": "general", "Mode": "sandbox", "Temperature": "",
        "Top p": "0.5",
    }.items():  # fmt: skip
        expect(field(settings, name)).to_have_value(value)


# Gradio's fields, and the endpoints that Test asks


def answer(_body: object) -> Turn:
    return Turn(calls=[Call("ready")])


@pytest.fixture(scope="module")
def environment_endpoint() -> Iterator[Endpoint]:
    with Endpoint(answer, key="sk-environment", models=["house-model"]) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def other_endpoint() -> Iterator[Endpoint]:
    with Endpoint(answer, key=SECRET, models=["far-model", "near-model"]) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def studio_url(environment_endpoint: Endpoint, data: Path) -> Iterator[str]:
    settings: dict[str, Any] = {"model": "house-model", "api_key": "sk-environment", "steps": 40}
    with serve_studio(data, base_url=environment_endpoint.url, **settings) as studio_url:
        yield studio_url


@pytest.fixture
def studio(browser: Browser, studio_url: str) -> Iterator[StudioTab]:
    with open_studio(browser, studio_url) as studio:
        studio.button("Settings").click()
        yield studio


def connection_result(studio: StudioTab) -> Locator:
    return drawer(studio).get_by_label("Test result")


@pytest.mark.browser
@pytest.mark.nightly
def test_an_api_key_pasted_right_after_the_endpoint_is_kept(
    studio: StudioTab, other_endpoint: Endpoint
) -> None:
    field(studio, "API key").fill("sk-of-the-first")
    # All in one task of the page: whatever Gradio does about it comes afterwards.
    studio.page.evaluate(
        """([url, key]) => {
          const enter = (field, text) => {
            field.focus();
            field.value = text;
            field.dispatchEvent(new Event("input", { bubbles: true }));
          };
          enter(document.querySelector("#endpoint textarea"), url);
          enter(document.querySelector("#settings input[type=password]"), key);
          document.querySelector("#test").focus();
        }""",
        [other_endpoint.url, SECRET],
    )
    studio.button("Test").click()
    expect(connection_result(studio)).to_contain_text(
        re.compile("far-model|near-model|works|Choose|model")
    )
    expect(field(studio, "API key")).to_have_value(SECRET)
    assert other_endpoint.received[-1].headers["authorization"] == f"Bearer {SECRET}"


@pytest.mark.browser
@pytest.mark.nightly
@pytest.mark.parametrize("size", [(1280, 860), (390, 844)])
def test_the_model_list_does_not_cover_test_and_escape_closes_only_the_list(
    studio: StudioTab, size: tuple[int, int]
) -> None:
    studio.page.set_viewport_size({"width": size[0], "height": size[1]})
    studio.button("Test").click()
    expect(connection_result(studio)).to_contain_text(re.compile("house-model works"))
    model = drawer(studio).get_by_label("Model", exact=True)
    model.click()
    shown = studio.page.get_by_role("option", name="house-model")
    expect(shown).to_be_visible()
    (top,) = studio.page.get_by_role("listbox").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().top)"
    )
    box = studio.button("Test").bounding_box()
    assert box
    assert box["y"] + box["height"] <= top
    studio.page.keyboard.press("Escape")
    expect(shown).to_be_hidden()
    expect(drawer(studio)).to_be_visible()
    studio.page.keyboard.press("Escape")
    expect(drawer(studio)).to_be_hidden()


@pytest.mark.browser
@pytest.mark.nightly
def test_the_environment_key_is_not_sent_to_another_endpoint(
    studio: StudioTab, other_endpoint: Endpoint
) -> None:
    before = len(other_endpoint.received)
    field(studio, "Endpoint").fill(other_endpoint.url)
    studio.button("Test").click()
    expect(connection_result(studio)).to_contain_text(re.compile("key", re.I))
    sent = [str(each.headers.get("authorization", "")) for each in other_endpoint.received[before:]]
    assert sent
    assert not any("sk-environment" in each for each in sent)

    field(studio, "API key").fill(SECRET)
    drawer(studio).get_by_label("Model", exact=True).fill("near-model")
    drawer(studio).get_by_label("Model", exact=True).press("Enter")
    studio.button("Test").click()
    expect(connection_result(studio)).to_contain_text(re.compile("near-model works"))
    drawer(studio).get_by_label("Model", exact=True).click()
    expect(studio.page.get_by_role("option", name="far-model")).to_be_visible()


@pytest.mark.browser
@pytest.mark.e2e("changes the settings and starts a run that has them")
@pytest.mark.main_path
def test_settings_apply_to_the_next_run_without_saving(studio: StudioTab) -> None:
    expect(drawer(studio).get_by_text("1 to 40; the operator sets")).to_be_visible()
    drawer(studio).get_by_role("radio", name="Without").check()
    studio.page.reload()
    studio.task.wait_for()
    studio.send("Without a sandbox")
    expect(studio.page.locator(".pill.model")).to_contain_text("no sandbox")
