"""The settings drawer: what the browser remembers (never the API key), and the Test button."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from agent.settings import Settings
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.server import create_app, run_server
from tests.support.tab import StudioTab, open_studio

pytestmark = pytest.mark.browser

SECRET = "sk-entered-by-hand"
STORED = "JSON.stringify([{...localStorage}, {...sessionStorage}])"


def answer(_body: object) -> Turn:
    return Turn(calls=[Call("ready")])


@pytest.fixture(scope="module")
def environment_endpoint() -> Iterator[Endpoint]:
    """The endpoint of the environment."""
    with Endpoint(answer, key="sk-environment", models=["house-model"]) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def other_endpoint() -> Iterator[Endpoint]:
    """An endpoint that a user may enter instead."""
    with Endpoint(answer, key=SECRET, models=["far-model", "near-model"]) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def studio_url(
    environment_endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    settings = Settings(
        data=tmp_path_factory.mktemp("data"), base_url=environment_endpoint.url,
        model="house-model", api_key="sk-environment", steps=40,
    )  # fmt: skip
    with run_server(create_app(settings, LocalSandboxProvider(settings.data))) as studio_url:
        yield studio_url


@pytest.fixture
def studio(browser: Browser, studio_url: str) -> Iterator[StudioTab]:
    with open_studio(browser, studio_url) as studio:
        studio.button("Settings").click()
        yield studio


def drawer(studio: StudioTab) -> Locator:
    return studio.page.get_by_role("dialog", name="Settings")


def field(studio: StudioTab, name: str) -> Locator:
    return drawer(studio).get_by_label(name, exact=False).first


def reload_settings(studio: StudioTab) -> StudioTab:
    studio.page.reload()
    studio.task.wait_for()
    studio.button("Settings").click()
    return studio


def connection_result(studio: StudioTab) -> Locator:
    return drawer(studio).get_by_label("Test result")


def test_the_range_of_the_step_limit_is_shown(studio: StudioTab) -> None:
    expect(drawer(studio).get_by_text("1 to 40; the operator sets")).to_be_visible()


def test_settings_survive_a_reload_but_the_api_key_does_not(
    studio: StudioTab, other_endpoint: Endpoint
) -> None:
    field(studio, "Endpoint").fill(other_endpoint.url)
    field(studio, "API key").fill(SECRET)
    field(studio, "Maximum steps").fill("7")
    drawer(studio).get_by_role("radio", name="Allowed hosts").check()
    drawer(studio).get_by_role("textbox", name="Hosts").fill("pypi.org .debian.org")
    drawer(studio).get_by_role("radio", name="Without").check()
    studio.page.wait_for_function(f"{STORED}.includes('plain')")
    assert SECRET not in studio.page.evaluate(STORED)

    reload_settings(studio)
    expect(field(studio, "Endpoint")).to_have_value(other_endpoint.url)
    expect(field(studio, "API key")).to_have_value("")
    expect(field(studio, "Maximum steps")).to_have_value("7")
    expect(drawer(studio).get_by_role("radio", name="Allowed hosts")).to_be_checked()
    expect(drawer(studio).get_by_role("textbox", name="Hosts")).to_have_value(
        "pypi.org .debian.org"
    )
    expect(drawer(studio).get_by_role("radio", name="Without")).to_be_checked()
    assert SECRET not in studio.page.evaluate(STORED)


def test_the_api_key_is_cleared_when_the_endpoint_changes(
    studio: StudioTab, other_endpoint: Endpoint
) -> None:
    field(studio, "Endpoint").fill(other_endpoint.url)
    field(studio, "API key").fill(SECRET)
    field(studio, "Endpoint").fill(f"{other_endpoint.url}/v2")
    field(studio, "API key").focus()
    expect(field(studio, "API key")).to_have_value(SECRET)
    field(studio, "Endpoint").fill("https://elsewhere.example/v1")
    field(studio, "API key").focus()
    expect(field(studio, "API key")).to_have_value("")
    expect(studio.page.get_by_text("Key cleared because the endpoint changed")).to_be_visible()


def test_an_api_key_pasted_right_after_the_endpoint_is_kept(
    studio: StudioTab, environment_endpoint: Endpoint, other_endpoint: Endpoint
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


def test_settings_can_be_reset(studio: StudioTab, environment_endpoint: Endpoint) -> None:
    field(studio, "Endpoint").fill("http://127.0.0.1:9/v1")
    field(studio, "API key").fill(SECRET)
    studio.page.wait_for_function(f"{STORED}.includes(':9/v1')")
    studio.button("Reset settings").click()
    expect(field(studio, "Endpoint")).to_have_value(environment_endpoint.url)
    expect(field(studio, "API key")).to_have_value("")
    assert ":9/v1" not in studio.page.evaluate(STORED)


def test_an_endpoint_url_that_may_contain_a_secret_is_not_stored(studio: StudioTab) -> None:
    field(studio, "Endpoint").fill("http://127.0.0.1:9/v1?api-key=hidden")
    field(studio, "Maximum steps").fill("9")
    studio.page.wait_for_function(f"{STORED}.includes('steps')")
    assert "hidden" not in studio.page.evaluate(STORED)


def test_an_invalid_stored_value_is_ignored(studio: StudioTab) -> None:
    studio.page.evaluate(
        "localStorage.setItem('studio-settings', JSON.stringify("
        "{prompt: 'gone', steps: 4000, mode: {}, temperature: 'hot', top_p: 0.5}))"
    )
    reload_settings(studio)
    expect(field(studio, "Maximum steps")).to_have_value("40")
    expect(drawer(studio).get_by_label("Prompt", exact=True)).to_have_value("general")
    expect(drawer(studio).get_by_role("radio", name="sandbox")).to_be_checked()
    drawer(studio).get_by_role("button", name="Advanced").click()
    expect(field(studio, "Temperature")).to_have_value("")
    expect(field(studio, "Top p")).to_have_value("0.5")


def test_the_environment_key_is_not_sent_to_another_endpoint(
    studio: StudioTab, environment_endpoint: Endpoint, other_endpoint: Endpoint
) -> None:
    studio.button("Test").click()
    expect(connection_result(studio)).to_contain_text(re.compile("house-model works"))
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


@pytest.mark.parametrize(
    ("entered", "message"),
    [
        ("ftp://models.test/v1", "must begin with http"),
        ("http://name:word@models.test/v1", "must not contain a user name or a password"),
        ("http://127.0.0.1:9/v1", "127.0.0.1:9"),
    ],
)
def test_the_test_button_reports_an_invalid_endpoint_url(
    studio: StudioTab, entered: str, message: str
) -> None:
    field(studio, "Endpoint").fill(entered)
    studio.button("Test").click()
    expect(connection_result(studio)).to_contain_text(re.compile(re.escape(message)))


def test_a_run_without_network_shows_it(studio: StudioTab) -> None:
    drawer(studio).get_by_role("radio", name="None", exact=True).check()
    studio.button("Close settings").click()
    studio.send("Stay at home")
    expect(studio.page.locator(".pill.model")).to_contain_text("no network")


def test_escape_closes_the_drawer_and_restores_the_focus(studio: StudioTab) -> None:
    expect(field(studio, "Endpoint")).to_be_focused()
    studio.page.keyboard.press("Escape")
    expect(drawer(studio)).to_be_hidden()
    expect(studio.button("Settings")).to_be_focused()


@pytest.mark.e2e("changes the settings and starts a run that has them")
@pytest.mark.main_path
def test_settings_apply_to_the_next_run_without_saving(
    studio: StudioTab,
) -> None:
    drawer(studio).get_by_role("radio", name="Without").check()
    reload_settings(studio).button("Close settings").click()
    studio.send("Without a sandbox")
    expect(studio.page.locator(".pill.model")).to_contain_text("no sandbox")
