"""Keys: where one is sent, and that none is ever shown."""

import base64
import json
import logging
import os
import subprocess
import sys
import traceback
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import ModelError, ModelRefused
from agent.models.base import Finish, ModelConfig, Piece, TextPiece
from agent.models.openai.base_url import parse_base_url, resolve_key, same_endpoint
from agent.models.openai.client import OpenAIModel
from agent.models.openai.probe import check_endpoint, list_models
from agent.models.openai.redaction import KeyRedactor, redact
from agent.util.cancellation import Stop
from tests.contract.model_suite import REQUEST
from tests.support.models.endpoint import Call, Endpoint, Turn

KEY = "sk-proj-Abcdefgh0123456789ijkl"
HOME = "https://models.example.com/v1"


def test_the_environments_key_goes_to_the_environments_endpoint() -> None:
    assert resolve_key(HOME, "", HOME, KEY) == KEY


def test_the_environments_endpoint_is_the_sdks_own_where_none_is_named() -> None:
    assert resolve_key("https://api.openai.com/v1", "", "", KEY) == KEY
    assert resolve_key(HOME, "", "", KEY) == ""


def test_an_entered_key_goes_where_it_was_entered_for() -> None:
    assert resolve_key("https://other.example/v1", " sk-entered ", HOME, KEY) == "sk-entered"


@pytest.mark.parametrize(
    "spelling",
    [
        "https://models.example.com/v1/",
        "  https://models.example.com/v1\n",
        "HTTPS://Models.Example.COM/v1",
        "https://models.example.com:443/v1",
    ],
)
def test_another_spelling_of_the_same_endpoint_is_the_same(spelling: str) -> None:
    assert resolve_key(spelling, "", HOME, KEY) == KEY


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://models.example.com/v1",
        "https://models.example.com:8443/v1",
        "https://models.example.com/v2",
        "https://models.example.com/V1",
        "https://models.example.com",
        "https://models.example.com/v1/../evil",
        "https://models.example.com/x/../v1",
        "https://models.example.com/v1/.",
        "https://models.example.com/%76%31/%2e%2e/v1",
        "https://models.example.com//v1",
        "https://models.example.com/v1?to=evil",
        "https://models.example.com/v1#x",
        "https://user@models.example.com/v1",
        "https://user:pass@models.example.com/v1",
        "https://models.example.com@evil.example/v1",
        "https://evil.example\\@models.example.com/v1",
        "https://evil.example/models.example.com/v1",
        "https://models.example.com.evil.example/v1",
        "https://models.example.com./v1",
        "https://models.example.com\t.evil.example/v1",
        "https://models.example.com\x00/v1",
        "https://models%2eexample.com/v1",
        "https://models。example。com/v1",
        "https://ｍodels.example.com/v1",
        "https://mödels.example.com/v1",
        "https://modeľs.example.com/v1",
        "https:models.example.com/v1",
        "https:///models.example.com/v1",
        "//models.example.com/v1",
        "models.example.com/v1",
        "javascript://models.example.com/v1",
        "https://models.example.com:99999/v1",
        "https://models.example.com:x/v1",
        "https://[models.example.com]/v1",
        "https://[::1/v1",
    ],
)
def test_the_environments_key_goes_to_no_other_endpoint(url: str) -> None:
    assert resolve_key(url, "", HOME, KEY) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://localhost:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1/v1", "http://127.1/v1"),
        ("http://127.0.0.1/v1", "http://0x7f000001/v1"),
        ("http://[::1]/v1", "http://[0:0:0:0:0:0:0:1]/v1"),
        ("https://fass.de/v1", "https://faß.de/v1"),
    ],
)
def test_what_only_a_resolver_could_know_to_be_the_same_is_different(one: str, other: str) -> None:
    assert not same_endpoint(one, other)


@settings(deadline=None)
@given(st.text(max_size=40), st.sampled_from(["https://", "http://", "", "https://a@"]))
def test_two_addresses_are_the_same_only_as_the_client_would_ask_them(tail: str, head: str) -> None:
    url = head + tail
    if same_endpoint(url, HOME):
        assert parse_base_url(url).url == HOME


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://host/v1", "http://", "http://a b/v1"])
def test_an_address_that_cannot_be_used_says_what_to_enter(url: str) -> None:
    with pytest.raises(ModelRefused, match=r"address"):
        OpenAIModel(ModelConfig(url, "m"))


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(ModelRefused) as caught:
        OpenAIModel(ModelConfig("https://me:hunter2@host/v1", "m"))
    assert "hunter2" not in str(caught.value)


def test_a_redirect_is_not_followed() -> None:
    with Endpoint([Turn(text="stolen")]) as other, Endpoint() as endpoint:
        endpoint.redirect = f"{other.url}/chat/completions"
        model = OpenAIModel(ModelConfig(endpoint.url, "m", api_key=KEY))
        with pytest.raises(ModelRefused, match="another address"):
            list(model.stream(REQUEST, Stop()))
        with pytest.raises(ModelRefused, match="another address"):
            list_models(ModelConfig(endpoint.url, "", api_key=KEY))
        assert other.received == []


def test_no_key_sends_no_header() -> None:
    with Endpoint([Turn(text="Hi")]) as endpoint:
        list(OpenAIModel(ModelConfig(endpoint.url, "m", api_key="  ")).stream(REQUEST, Stop()))
        list_models(ModelConfig(endpoint.url, ""))
    assert all("authorization" not in received.headers for received in endpoint.received)


@pytest.mark.parametrize("key", ["sk-\nX: y", "clé", "sk-\x00"])
def test_a_key_that_is_none_is_told_and_not_repeated(key: str) -> None:
    with pytest.raises(ModelRefused, match="key") as caught:
        OpenAIModel(ModelConfig("http://127.0.0.1:1/v1", "m", api_key=key))
    assert key not in str(caught.value)


AMBIENT = {
    "OPENAI_API_KEY": "ambient-key",
    "OPENAI_ADMIN_KEY": "ambient-admin",
    "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
    "OPENAI_ORG_ID": "ambient-org",
    "OPENAI_PROJECT_ID": "ambient-project",
    "OPENAI_WEBHOOK_SECRET": "ambient-secret",
    "OPENAI_CUSTOM_HEADERS": "Authorization: Bearer ambient-header\nX-Ambient: ambient-x",
    "OPENAI_LOG": "debug",
    "HTTP_PROXY": "http://127.0.0.1:1",
    "HTTPS_PROXY": "http://127.0.0.1:1",
    "ALL_PROXY": "http://127.0.0.1:1",
}
ASK = """
import json, sys
from agent.models.base import Finish, ModelConfig, Piece, TextPiece
from agent.models.openai.client import OpenAIModel
from agent.util.cancellation import Stop
from tests.contract.model_suite import REQUEST, said
url, key = sys.argv[1:]
print(said(list(OpenAIModel(ModelConfig(url, "m", api_key=key)).stream(REQUEST, Stop()))))
"""


def _elsewhere(url: str, key: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Ask in a process of its own: the environment is read once in a process."""
    return subprocess.run(
        [sys.executable, "-c", ASK, url, key],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("key", ["", KEY])
def test_the_sdk_takes_nothing_from_the_environment(key: str) -> None:
    with Endpoint([Turn(text="Hi")]) as endpoint:
        asked = _elsewhere(endpoint.url, key, **AMBIENT)
    assert asked.stdout == "Hi\n", asked.stderr
    assert "ambient" not in json.dumps(dict(endpoint.requests[0].headers))
    assert endpoint.requests[0].headers.get("authorization") == (f"Bearer {key}" if key else None)
    assert KEY not in asked.stderr


def test_other_hosts_are_asked_through_the_environments_proxy() -> None:
    with Endpoint([Turn(text="Hi")]) as proxy:
        address = proxy.url.removesuffix("/v1")
        asked = _elsewhere("http://models.example.com/v1", "", HTTP_PROXY=address, NO_PROXY="")
    assert asked.stdout == "Hi\n", asked.stderr
    assert proxy.requests[0].path == "http://models.example.com/v1/chat/completions"


def test_one_models_cookies_are_not_anothers() -> None:
    with Endpoint([Turn(fault="429 set-cookie=session=abc"), Turn(text="Hi")]) as endpoint:
        for _ in range(2):
            check_endpoint(ModelConfig(endpoint.url, "m"))
    assert "cookie" not in endpoint.requests[1].headers


def test_a_configuration_does_not_show_its_key() -> None:
    config = ModelConfig(HOME, "m", api_key=KEY)
    assert KEY not in repr(config) + repr(replace(config, model="n"))
    assert KEY not in repr(OpenAIModel(config))


ECHOES = [
    f"Incorrect API key provided: {KEY}. You can find it at https://platform.openai.com.",
    f"Authorization: Bearer {KEY} is not known",
    f'{{"key": "{KEY}"}}',
    f"Your key ({KEY},{KEY}) was revoked",
]


@pytest.mark.parametrize("echo", ECHOES)
def test_a_key_that_an_endpoint_echoes_is_taken_out(
    echo: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with Endpoint([Turn(fault="401", message=echo)]) as endpoint:
        model = OpenAIModel(ModelConfig(endpoint.url, "m", api_key=KEY))
        with pytest.raises(ModelError) as caught:
            list(model.stream(REQUEST, Stop()))
    told = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert "[key]" in told
    assert KEY not in told


def test_redacting_leaves_the_rest_of_the_text() -> None:
    text = "This model's maximum context length is 4096 tokens. See https://example.com/docs."
    assert redact(text, KEY) == text
    assert redact("The key test is wrong, testing is not.", "test") == (
        "The key [key] is wrong, testing is not."
    )
    assert redact("x is wrong", "x") == "x is wrong"


@pytest.mark.parametrize(
    "text",
    [
        "A model is required; field required: messages",
        "The model returned ***nothing*** from key_management_service",
        "Incorrect API key provided: sk-no***ired.",
    ],
)
def test_words_that_share_letters_with_a_placeholder_key_stay(text: str) -> None:
    assert redact(text, "sk-no-key-required") == text


def test_a_transformed_key_is_not_recognized() -> None:
    """The limit that SECURITY.md states; a change here needs a change there."""
    for transformed in (KEY.upper(), base64.b64encode(KEY.encode()).decode(), KEY[:14]):
        assert redact(transformed, KEY) == transformed


@given(
    st.lists(st.sampled_from([KEY, KEY[:9], KEY[9:], "sk-", "s", " text "]), max_size=8),
    st.lists(st.integers(1, 12), min_size=1),
)
@settings(deadline=None)
def test_a_key_is_taken_out_of_a_stream_wherever_it_is_cut(
    parts: list[str], cuts: list[int]
) -> None:
    text, pieces, at = "".join(parts), list[Piece](), 0
    while at < len(text):
        size = cuts[len(pieces) % len(cuts)]
        pieces.append(TextPiece(text[at : at + size]))
        at += size
    shown = KeyRedactor(KEY).redact_stream([*pieces, Finish("stop")])
    said = "".join(piece.text for piece in shown if isinstance(piece, TextPiece))
    assert said == text.replace(KEY, "[key]")


@pytest.mark.parametrize(
    "turn",
    [
        Turn(text=f"You sent {KEY}."),
        Turn(reasoning=f"They sent {KEY}."),
        Turn(calls=[Call("execute_bash", {"command": f"curl -H 'Authorization: Bearer {KEY}'"})]),
    ],
)
def test_an_endpoint_that_says_the_key_in_its_answer_does_not_get_it_into_the_run(
    turn: Turn,
) -> None:
    with Endpoint([turn]) as endpoint:
        model = OpenAIModel(ModelConfig(endpoint.url, "m", api_key=KEY))
        said = str(list(model.stream(REQUEST, Stop())))
    assert KEY not in said
    assert "[key]" in said


@pytest.mark.parametrize("call", [Call("go", {}, id=f"call-{KEY}"), Call(f"go-{KEY}", {})])
def test_nor_into_what_a_call_is_called(call: Call) -> None:
    with Endpoint([Turn(calls=[call])]) as endpoint:
        model = OpenAIModel(ModelConfig(endpoint.url, "m", api_key=KEY))
        said = str(list(model.stream(REQUEST, Stop())))
    assert KEY not in said
    assert "[key]" in said


def test_a_line_of_five_megabytes_is_an_answer_like_any_other() -> None:
    with Endpoint([Turn(text="x" * 5_000_000, fragment_length=5_000_000)]) as endpoint:
        pieces = list(OpenAIModel(ModelConfig(endpoint.url, "m")).stream(REQUEST, Stop()))
    assert sum(len(piece.text) for piece in pieces if isinstance(piece, TextPiece)) == 5_000_000
