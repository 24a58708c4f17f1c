"""API keys: where they are sent, and that they are never shown."""

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
from agent.models.base import CallPiece, Finish, ModelConfig, OpaqueParts, TextPiece
from agent.models.endpoint.client import EndpointModel
from agent.models.passport.probe import check_endpoint, list_models
from agent.models.transport.base_url import parse_base_url, resolve_key, same_endpoint
from agent.models.transport.redaction import ByteRedactor, KeyRedactor, redact, redact_json
from tests.contract.model_suite import calls_of, text_of
from tests.properties import split_at
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.models.model_requests import stream_request

KEY = "sk-proj-Abcdefgh0123456789ijkl"
HOME = "https://models.example.com/v1"


@pytest.mark.parametrize(
    ("url", "entered", "own_url", "sent"),
    [
        (HOME, "", HOME, KEY),
        (f"{HOME}/", "", HOME, KEY),
        (f"  {HOME}\n", "", HOME, KEY),
        ("HTTPS://Models.Example.COM/v1", "", HOME, KEY),
        ("https://models.example.com:443/v1", "", HOME, KEY),
        ("https://api.openai.com/v1", "", "", KEY),  # the SDK's default
        (HOME, "", "", ""),
        ("https://other.example/v1", " sk-entered ", HOME, "sk-entered"),
    ],
)
def test_a_key_is_sent_to_its_endpoint(url: str, entered: str, own_url: str, sent: str) -> None:
    assert resolve_key(url, entered, own_url, KEY) == sent


@pytest.mark.contract
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
        "https:models.example.com/v1",
        "https:///models.example.com/v1",
        "//models.example.com/v1",
        "models.example.com/v1",
        "javascript://models.example.com/v1",
        "https://models.example.com:x/v1",
        "https://[::1/v1",
    ],
)
def test_the_environment_key_is_sent_to_no_other_endpoint(url: str) -> None:
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
def test_hosts_that_differ_before_resolution_are_different(one: str, other: str) -> None:
    assert not same_endpoint(one, other)


@settings(deadline=None)
@given(st.text(max_size=40), st.sampled_from(["https://", "http://", "", "https://a@"]))
def test_urls_are_equal_only_if_the_client_requests_them_equally(tail: str, head: str) -> None:
    url = head + tail
    if same_endpoint(url, HOME):
        assert parse_base_url(url).url == HOME


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://host/v1", "http://", "http://a b/v1"])
def test_an_invalid_url_explains_what_to_enter(url: str) -> None:
    with pytest.raises(ModelRefused, match=r"address"):
        EndpointModel(ModelConfig(url, "m"))


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("https://me:hunter2@host/v1", "hunter2"),
        ("http://127.0.0.1:1/v1", "sk-\nX: y"),
        ("http://127.0.0.1:1/v1", "clé"),
        ("http://127.0.0.1:1/v1", "sk-\x00"),
    ],
)
def test_an_invalid_secret_is_reported_without_showing_it(url: str, secret: str) -> None:
    key = "" if secret in url else secret
    with pytest.raises(ModelRefused, match="key" if key else "address") as caught:
        EndpointModel(ModelConfig(url, "m", api_key=key))
    assert secret not in str(caught.value)


@pytest.mark.contract
def test_a_redirect_is_not_followed() -> None:
    with Endpoint([Turn(text="stolen")]) as other, Endpoint() as endpoint:
        endpoint.redirect = f"{other.url}/chat/completions"
        with pytest.raises(ModelRefused, match="another address"):
            stream_request(endpoint, api_key=KEY)
        with pytest.raises(ModelRefused, match="another address"):
            list_models(ModelConfig(endpoint.url, "", api_key=KEY))
        assert other.received == []


@pytest.mark.contract
def test_without_a_key_no_header_is_sent() -> None:
    with Endpoint([Turn(text="Hi")]) as endpoint:
        stream_request(endpoint, api_key="  ")
        list_models(ModelConfig(endpoint.url, ""))
    assert all("authorization" not in received.headers for received in endpoint.received)


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
STREAM_REQUEST = """
import sys
from agent.models.base import ModelConfig
from tests.contract.model_suite import text_of
from tests.support.models.model_requests import stream_from
url, key = sys.argv[1:]
print(text_of(stream_from(ModelConfig(url, "m", api_key=key))))
"""


@pytest.mark.contract
@pytest.mark.parametrize("key", ["", KEY])
def test_the_sdk_reads_nothing_from_the_environment(key: str) -> None:
    with Endpoint([Turn(text="Hi")]) as endpoint:
        result = subprocess.run(  # the environment is read once per process
            [sys.executable, "-c", STREAM_REQUEST, endpoint.url, key],
            env=os.environ | AMBIENT, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert result.stdout == "Hi\n", result.stderr
    assert "ambient" not in json.dumps(dict(endpoint.requests[0].headers))
    assert endpoint.requests[0].headers.get("authorization") == (f"Bearer {key}" if key else None)
    assert KEY not in result.stderr


@pytest.mark.contract
def test_models_do_not_share_cookies() -> None:
    turns = [Turn(fault="429 set-cookie=session=abc"), Turn(text="Hi")]
    with Endpoint(turns, passes_test=False) as endpoint:
        for _ in range(2):
            check_endpoint(ModelConfig(endpoint.url, "m"))
    assert "cookie" not in endpoint.requests[1].headers


def test_the_repr_of_a_configuration_hides_its_key() -> None:
    config = ModelConfig(HOME, "m", api_key=KEY)
    assert KEY not in repr(config) + repr(replace(config, model="n"))
    assert KEY not in repr(EndpointModel(config))


ECHOES = [
    f"Incorrect API key provided: {KEY}. You can find it at https://platform.openai.com.",
    f"Authorization: Bearer {KEY} is not known",
    f'{{"key": "{KEY}"}}',
    f"Your key ({KEY},{KEY}) was revoked",
]


@pytest.mark.contract
@pytest.mark.parametrize("echo", ECHOES)
def test_a_key_echoed_by_an_endpoint_is_redacted(
    echo: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    turn = Turn(fault="401", message=echo)
    with Endpoint([turn]) as endpoint, pytest.raises(ModelError) as caught:
        stream_request(endpoint, api_key=KEY)
    logged = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert "[key]" in logged
    assert KEY not in logged


QUOTED = 'sk-"quoted"-\\back/slash-0123'
DIGITS = "123456789012"


@pytest.mark.parametrize("key", [KEY, QUOTED, DIGITS])
def test_a_key_of_any_characters_is_redacted_and_json_stays_json(key: str) -> None:
    body = {"user": f"a {key} b", key: [1, {"deep": key}], "n": 5, "seed": 123456789012}
    redacted = redact_json(body, key)
    seed = "[key]" if key == DIGITS else 123456789012
    assert redacted == {"user": "a [key] b", "[key]": [1, {"deep": "[key]"}], "n": 5, "seed": seed}
    recorder = ByteRedactor(key)
    data = json.dumps({"echo": key}).encode()
    recorded = b"".join(recorder.feed(data[at : at + 3]) for at in range(0, len(data), 3))
    assert recorded + recorder.flush() == b'{"echo": "[key]"}'
    call = CallPiece(0, "call", "go", json.dumps({"command": f"curl {key}"}))
    opaque = OpaqueParts("chat/x@y", {"data": [key, 7]})
    pieces = list(KeyRedactor(key).redact_stream([call, Finish("stop", opaque=opaque)]))
    assert json.loads(calls_of(pieces)[0].arguments) == {"command": "curl [key]"}
    assert pieces[-1] == Finish("stop", opaque=OpaqueParts("chat/x@y", {"data": ["[key]", 7]}))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("This model's maximum context length is 4096 tokens. See https://example.com/docs.", KEY),
        ("The key test is wrong, testing is not.", "test"),
        ("A model is required; field required: messages", "sk-no-key-required"),
        ("It returned ***nothing*** from key_management_service", "sk-no-key-required"),
        ("Incorrect API key provided: sk-no***ired.", "sk-no-key-required"),
    ],
)
def test_redaction_keeps_the_rest_of_the_text(text: str, key: str) -> None:
    assert redact(text, key) == text


def test_a_transformed_key_is_not_recognized() -> None:
    """The limit that SECURITY.md states; a change here needs a change there."""
    for transformed in (KEY.upper(), base64.b64encode(KEY.encode()).decode(), KEY[:14]):
        assert redact(transformed, KEY) == transformed


@given(
    st.lists(st.sampled_from([KEY, KEY[:9], KEY[9:], "sk-", "s", " text "]), max_size=8),
    st.lists(st.integers(0)),
)
@settings(deadline=None)
def test_a_key_is_redacted_across_chunk_boundaries(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    pieces = [TextPiece(each) for each in split_at(text, cuts)]
    redacted = KeyRedactor(KEY).redact_stream([*pieces, Finish("stop")])
    assert text_of(list(redacted)) == text.replace(KEY, "[key]")


@pytest.mark.contract
@pytest.mark.parametrize(
    "turn",
    [
        Turn(text=f"You sent {KEY}."),
        Turn(reasoning=f"They sent {KEY}."),
        Turn(calls=[Call("execute_bash", {"command": f"curl -H 'Authorization: Bearer {KEY}'"})]),
        Turn(calls=[Call("go", {}, id=f"call-{KEY}")]),
        Turn(calls=[Call(f"go-{KEY}", {})]),
    ],
)
def test_a_key_in_an_answer_is_not_recorded(turn: Turn) -> None:
    with Endpoint([turn]) as endpoint:
        pieces = str(stream_request(endpoint, api_key=KEY))
    assert KEY not in pieces
    assert "[key]" in pieces


@pytest.mark.contract
def test_a_five_megabyte_line_is_accepted() -> None:
    with Endpoint([Turn(text="x" * 5_000_000, fragment_length=5_000_000)]) as endpoint:
        assert len(text_of(stream_request(endpoint))) == 5_000_000
