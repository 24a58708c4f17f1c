"""``/v1/chat/completions`` with OpenAI's own client: plain, and with a sandbox."""

import asyncio
import base64
import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from openai import APIStatusError, AsyncOpenAI, BadRequestError, OpenAI
from PIL import Image

from agent.runs.folder import RunFolder
from tests.agent.documents.test_text import create_pdf
from tests.agent.runs.outputs.sample_pictures import encode_picture
from tests.sandbox_ui.conftest import Script
from tests.sandbox_ui.openai_api.conftest import ASK, PLAIN, SANDBOX, chat, respond
from tests.support import httpx
from tests.support.comparisons import SUBMIT, bash
from tests.support.local_provider import record_ends
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import TIMEOUT_SECONDS, wait_until
from tests.support.servers.pictures import find_pictures

pytestmark = pytest.mark.contract

NOTES = base64.b64encode(b"twelve chars").decode()
FILE = {"filename": "notes.txt", "file_data": f"data:text/plain;base64,{NOTES}"}
ASK_WITH_FILE = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "How many?"}, {"type": "file", "file": FILE}],
    }
]


def state_of(http: httpx.Client, run: str) -> str:
    """Return a run's state in the history."""
    listed = http.get("/api/runs").json()["runs"]
    return next((str(each["state"]) for each in listed if each["run"] == run), "")


def test_each_model_is_listed_plain_and_with_a_sandbox(client: OpenAI) -> None:
    names = [model.id for model in client.models.list()]
    assert names[:2] == [PLAIN, SANDBOX]
    assert client.models.retrieve(SANDBOX).id == SANDBOX


def test_changing_one_word_gives_the_model_a_sandbox(client: OpenAI, http: httpx.Client) -> None:
    plain = chat(client, PLAIN)
    assert plain.choices[0].message.content == "It is 41."
    boxed = chat(client, SANDBOX, ASK_WITH_FILE)
    assert boxed.choices[0].message.content == "12"
    assert boxed.choices[0].finish_reason == "stop"
    reasoning = boxed.choices[0].message.model_dump()["reasoning_content"]
    assert "[execute_bash] cat input/*" in reasoning
    for answer, mode in ((plain, "plain"), (boxed, "sandbox")):
        run = answer.model_dump()["metadata"]["run"]
        rounds = http.get(f"/api/runs/{run}/requests").json()["rounds"]
        assert rounds[0]["mode"] == mode
        assert state_of(http, run) in ("answered", "submitted")


def test_the_whole_conversation_and_the_parameters_reach_the_endpoint(
    client: OpenAI, http: httpx.Client, endpoint: Endpoint
) -> None:
    messages: Any = [
        {"role": "system", "content": "Answer in French."},
        {"role": "user", "content": "Hello {task}"},
        {"role": "assistant", "content": "Bonjour"},
        {"role": "user", "content": [{"type": "text", "text": "And \n goodbye?  "}]},
    ]
    asked: dict[str, Any] = {
        "temperature": 0, "max_tokens": 7, "seed": 3, "stop": ["\n\n"],
        "response_format": {"type": "json_object"},
    }  # fmt: skip
    done = chat(client, PLAIN, messages, extra_body={"top_k": 20}, **asked)
    sent = endpoint.requests[-1].body
    assert sent["messages"] == [*messages[:3], {"role": "user", "content": "And \n goodbye?  "}]
    assert sent | asked | {"top_k": 20} == sent
    assert "tools" not in sent
    run = done.model_dump()["metadata"]["run"]
    exported = http.get(f"/api/runs/{run}/conversation.md").text
    assert "*Earlier, assistant:* Bonjour" in exported
    assert http.get(f"/api/runs/{run}/steps/1/request").json()["fidelity"] == "exact"


def test_in_a_sandbox_the_conversation_follows_the_prompt(
    client: OpenAI, endpoint: Endpoint
) -> None:
    messages = [
        {"role": "system", "content": "You are terse."},
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "Two?"},
    ]
    chat(client, SANDBOX, messages)
    first, *_ = endpoint.requests
    system, one, answer, two, *_ = first.body["messages"]
    assert system["content"].endswith("\n\nYou are terse.")
    assert (one["content"], answer["content"]) == ("One?", "1")
    assert two["content"].startswith("Two?")
    assert endpoint.history_errors == []


def test_a_stream_has_reasoning_then_the_answer_then_the_usage(
    client: OpenAI, script: Script
) -> None:
    script.play(
        Turn(reasoning="Let me look.", calls=bash("echo 5 > output/answer.txt").calls), SUBMIT
    )
    chunks = list(chat(client, stream=True, stream_options={"include_usage": True}))
    deltas = [chunk.choices[0].delta.model_dump() for chunk in chunks if chunk.choices]
    reasoning = "".join(delta.get("reasoning_content") or "" for delta in deltas)
    assert reasoning.startswith("Let me look.\n\n[execute_bash] echo 5")
    assert "".join(delta["content"] or "" for delta in deltas) == "5"
    assert chunks[0].model_dump()["metadata"] == chunks[-2].model_dump()["metadata"]
    assert chunks[-2].choices[0].finish_reason == "stop"
    usage = chunks[-1].usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (200, 40)


def test_a_plain_answer_is_streamed_as_it_comes(client: OpenAI, script: Script) -> None:
    script.answer = lambda _: Turn(reasoning="Hm.", text=" A  long answer. ", fragment_length=3)
    chunks = list(chat(client, PLAIN, stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == " A  long answer. "


def test_only_reported_tokens_are_reported(client: OpenAI, script: Script) -> None:
    def usage(reported: tuple[int, ...] | dict[str, int] | None) -> Any:
        script.answer = lambda _: Turn(text="Hi", usage=reported)
        return chat(client, PLAIN).usage

    assert usage(None) is None
    totals = usage({"prompt_tokens": 10, "completion_tokens": 2})
    assert totals.total_tokens == 12
    assert totals.prompt_tokens_details is None
    assert totals.completion_tokens_details is None
    assert usage((10, 2, 0)).prompt_tokens_details.cached_tokens == 0


def test_a_stop_text_shortens_the_answer_of_a_sandbox_and_not_its_work(
    client: OpenAI, endpoint: Endpoint, script: Script
) -> None:
    script.play(bash("printf 'one\\n\\ntwo' > output/answer.txt"), SUBMIT)
    done = chat(client, stop=["\n\n"])
    assert done.choices[0].message.content == "one"
    assert all("stop" not in request.body for request in endpoint.requests)


def test_a_round_that_reaches_its_limit_says_so(client: OpenAI, script: Script) -> None:
    script.answer = lambda _: bash("true")
    done = chat(client, extra_body={"sandbox": {"max_steps": 2}})
    assert done.choices[0].finish_reason == "length"
    sandbox = done.model_dump()["sandbox"]
    assert (sandbox["status"], sandbox["steps"]) == ("step_limit", 2)


def test_a_round_summarises_older_steps_if_asked(client: OpenAI, script: Script) -> None:
    steps = [bash(f"seq {n} {n + 400}") for n in range(4)]
    full = replace(bash("seq 9 409"), usage=(4500, 20))
    summary = Turn(text="Numbers were counted.", usage=(4000, 30))
    script.play(*steps, full, summary, SUBMIT)
    limits = {"max_conversation_tokens": 5000, "summarise": True}
    done = chat(client, extra_body={"sandbox": limits})
    assert "were summarised for the model" in str(done.model_dump()["sandbox"])
    assert done.usage.prompt_tokens == 5 * 100 + 4500 + 4000


def test_produced_files_come_back_as_links(client: OpenAI, script: Script) -> None:
    script.play(
        bash("printf a,b > output/table.csv; echo See table.csv > output/answer.txt"), SUBMIT
    )
    done = chat(client)
    made = [file["filename"] for file in done.model_dump()["sandbox"]["files"]]
    assert made == ["answer.txt", "table.csv"]
    message = done.choices[0].message
    link = message.annotations[0].url_citation
    assert message.content[link.start_index : link.end_index] == link.title == "table.csv"
    file_id = message.annotations[0].model_dump()["file_id"]
    assert client.files.content(file_id).content == b"a,b"
    assert client.files.retrieve(file_id).bytes == 3
    headers = {"Authorization": f"Bearer {client.api_key}"}
    assert httpx.get(link.url, headers=headers).content == b"a,b"


def test_a_completion_gives_its_sandbox_back_and_a_response_keeps_it(
    client: OpenAI, script: Script, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = record_ends(monkeypatch)
    script.answer = lambda _: SUBMIT
    sandboxes = [
        RunFolder.open(data, each.model_dump()["metadata"]["run"]).sandbox
        for each in (respond(client), chat(client))
    ]
    wait_until(lambda: (sandboxes[1], "close") in ends)
    assert sandboxes[0] not in dict(ends)


def test_ten_at_once_each_get_their_own_answer(studio_url: str, token: str, script: Script) -> None:
    def answer(body: dict[str, Any]) -> Turn:
        if any(message["role"] == "tool" for message in body["messages"]):
            return SUBMIT
        number = body["messages"][-1]["content"].split()[1]
        return bash(f"echo {number} > output/answer.txt")

    script.answer = answer

    async def ask_all() -> list[str | None]:
        async with AsyncOpenAI(
            base_url=f"{studio_url}/v1", api_key=token, timeout=TIMEOUT_SECONDS, max_retries=0
        ) as client:

            async def ask(number: int) -> str | None:
                message: Any = {"role": "user", "content": f"Say {number} please"}
                done = await client.chat.completions.create(model=SANDBOX, messages=[message])
                return done.choices[0].message.content

            return await asyncio.gather(*map(ask, range(10)))

    assert asyncio.run(ask_all()) == [str(number) for number in range(10)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", [PLAIN, SANDBOX])
def test_a_dropped_connection_stops_the_run(
    http: httpx.Client, endpoint: Endpoint, script: Script, model: str, stream: bool
) -> None:
    gate = script.hold()
    known = {each["run"] for each in http.get("/api/runs").json()["runs"]}
    body = {"model": model, "messages": ASK, "stream": stream}
    patience = httpx.Timeout(60, read=1)
    with (
        httpx.Client(base_url=http.base_url, headers=http.headers, timeout=patience) as leaving,
        pytest.raises(httpx.ReadTimeout),
    ):
        leaving.post("/v1/chat/completions", json=body)

    def new_states() -> list[tuple[str, str]]:
        listed = http.get("/api/runs").json()["runs"]
        return [(each["run"], each["state"]) for each in listed if each["run"] not in known]

    wait_until(lambda: [state for _, state in new_states()] == ["stopped"])
    gate.set()
    run = new_states()[0][0]
    feed = http.get(f"/api/runs/{run}/conversation.md").text
    assert "closed its connection" in feed


def test_a_failed_run_is_an_error_that_is_not_repeated(client: OpenAI, script: Script) -> None:
    script.answer = lambda _: Turn(fault="401", message="Wrong key")
    with pytest.raises(APIStatusError) as refused:
        chat(client, PLAIN)
    assert (refused.value.status_code, refused.value.code) == (502, "run_failed")
    assert refused.value.response.headers["x-should-retry"] == "false"
    with pytest.raises(APIStatusError):
        list(chat(client, stream=True))


def test_input_beyond_the_context_is_refused_as_by_openai(client: OpenAI, script: Script) -> None:
    message = "This model's maximum context length is 100 tokens, but 500 tokens were requested"
    script.answer = lambda _: Turn(fault="400", message=message)
    for stream in (False, True):
        with pytest.raises(APIStatusError) as refused:
            chat(client, PLAIN, stream=stream)
        assert (refused.value.status_code, refused.value.code) == (400, "context_length_exceeded")


def test_what_lm_evaluation_harness_sends_is_answered(http: httpx.Client) -> None:
    # LocalChatCompletion._create_payload of lm_eval/models/openai_completions.py
    for model in (PLAIN, SANDBOX):
        payload = {
            "messages": [{"role": "user", "content": "Q: 2+2?\nA:", "type": "text"}],
            "model": model,
            "max_tokens": 256,
            "temperature": 0,
            "stop": ["Q:", "</s>", "<|im_end|>"],
            "seed": 1234,
        }
        answer = http.post("/v1/chat/completions", json=payload)
        assert answer.status_code == 200, answer.text
        assert isinstance(answer.json()["choices"][0]["message"]["content"], str)


def test_what_open_webui_sends_is_answered(http: httpx.Client) -> None:
    pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=="
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": pixel}},
    ]
    payload = {
        "stream": True,
        "model": SANDBOX,
        "messages": [{"role": "user", "content": content}],
        "stream_options": {"include_usage": True},
    }
    with http.stream("POST", "/v1/chat/completions", json=payload) as response:
        lines = [line for line in response.iter_lines() if line]
    assert response.headers["content-type"].startswith("text/event-stream")
    assert lines[-1] == "data: [DONE]"
    assert all(json.loads(line[6:])["model"] == SANDBOX for line in lines[:-1])


def test_a_picture_is_seen_without_a_sandbox_by_a_model_that_takes_it(
    client: OpenAI, endpoint: Endpoint, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = encode_picture("red")
    url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    messages: Any = [{"role": "user", "content": content}]
    with pytest.raises(BadRequestError, match="is not known to take pictures"):
        chat(client, PLAIN, messages)
    script.play(Turn(text="A red picture."))
    monkeypatch.setattr("agent.models.endpoint.pictures.is_known_to_see", lambda _: True)
    assert chat(client, PLAIN, messages).choices[0].message.content == "A red picture."
    (sent,) = find_pictures(endpoint.requests[-1].body["messages"])
    with Image.open(BytesIO(sent)) as seen:
        assert seen.getpixel((0, 0)) == (255, 0, 0)


def test_pdfs_are_sent_as_pages_without_a_sandbox(
    client: OpenAI, endpoint: Endpoint, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = base64.b64encode(create_pdf(["First", "Second"])).decode()
    file = {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{data}"}
    content = [{"type": "text", "text": "What is it?"}, {"type": "file", "file": file}]
    messages: Any = [{"role": "user", "content": content}]
    monkeypatch.setattr("agent.models.endpoint.pictures.is_known_to_see", lambda _: True)
    script.play(Turn(text="Two pages."))
    chat(client, PLAIN, messages, extra_body={"pdfs": "pages"})
    sent = endpoint.requests[-1].body["messages"]
    assert len(find_pictures(sent)) == 2
    assert "First" not in str(sent)
    with pytest.raises(BadRequestError, match="pdfs must be auto, text, pages or both"):
        chat(client, PLAIN, messages, extra_body={"pdfs": "words"})
    with pytest.raises(BadRequestError, match=rf"pdfs is for {PLAIN}: {SANDBOX} opens PDFs itself"):
        chat(client, SANDBOX, messages, extra_body={"pdfs": "pages"})


def test_sounds_need_a_sandbox(client: OpenAI) -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    content = [{"type": "text", "text": "What is this?"}, sound]
    with pytest.raises(BadRequestError, match="gets no sounds"):
        chat(client, PLAIN, [{"role": "user", "content": content}])
