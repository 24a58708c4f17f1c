"""``/v1/responses`` with OpenAI's own client: items, streams, and the same sandbox again."""

import base64
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from openai import APIStatusError, OpenAI

from sandbox_ui.scheduling import queue
from tests.sandbox_ui.conftest import Script
from tests.sandbox_ui.openai_api.conftest import PLAIN, SANDBOX, respond
from tests.support.comparisons import SUBMIT, bash
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.test_docs import example_containing

pytestmark = pytest.mark.contract


def test_a_run_is_reasoning_calls_and_a_message_with_citations(
    client: OpenAI, script: Script
) -> None:
    work = bash("echo x > output/chart.svg; echo Done: chart.svg > output/answer.txt; echo ok")
    script.play(Turn(reasoning="A chart.", calls=work.calls), SUBMIT)
    response = respond(client, "Draw a chart.", metadata={"suite": "charts"})
    assert [item.type for item in response.output] == [
        "reasoning", "mcp_call", "reasoning", "mcp_call", "message",
    ]  # fmt: skip
    call = response.output[1]
    assert (call.name, call.status) == ("execute_bash", "completed")
    assert "ok" in call.output
    assert response.output_text == "Done: chart.svg"
    assert response.metadata["suite"] == "charts"
    [citation] = response.output[-1].content[0].annotations
    assert citation.container_id == response.metadata["run"]
    cited = response.output_text[citation.start_index : citation.end_index]
    assert cited == citation.filename == "chart.svg"
    content = client.containers.files.content.retrieve(
        citation.file_id, container_id=citation.container_id
    )
    assert content.content == b"x\n"
    assert response.usage.input_tokens == 200


def test_the_events_of_a_stream_add_up_to_the_response(client: OpenAI, script: Script) -> None:
    work = bash("echo 7 > output/answer.txt")
    script.play(Turn(reasoning="Seven.", calls=work.calls), SUBMIT)
    with client.responses.stream(model=SANDBOX, input="Three plus four?") as stream:
        events: list[Any] = list(stream)
        final = stream.get_final_response()
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[0].type == "response.created"
    assert events[-1].type == "response.completed"
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == final.output_text == "7"
    done = [event.item.type for event in events if event.type == "response.output_item.done"]
    assert done == [item.type for item in final.output]
    thought = [event.delta for event in events if event.type == "response.reasoning_text.delta"]
    assert "".join(thought).startswith("Seven.")


def test_a_plain_response_passes_the_instructions_through(
    client: OpenAI, endpoint: Endpoint, script: Script
) -> None:
    script.play(Turn(text="Bonjour"))
    history: Any = [
        {"role": "user", "content": "Hello"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Salut"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "Again"}]},
    ]
    response = client.responses.create(
        model=PLAIN,
        instructions="Answer in French.",
        input=history,
        max_output_tokens=9,
        reasoning={"effort": "low"},
        text={"format": {"type": "json_schema", "name": "a", "schema": {"type": "object"}}},
    )
    assert response.output_text == "Bonjour"
    sent = endpoint.requests[-1].body
    assert [each["content"] for each in sent["messages"]] == [
        "Answer in French.", "Hello", "Salut", "Again",
    ]  # fmt: skip
    assert (sent["max_tokens"], sent["reasoning_effort"]) == (9, "low")
    assert sent["response_format"]["json_schema"] == {"name": "a", "schema": {"type": "object"}}


def test_the_previous_response_continues_in_the_same_sandbox(
    client: OpenAI, endpoint: Endpoint, script: Script
) -> None:
    notes = base64.b64encode(b"more").decode()
    script.play(bash("echo kept > note.txt; echo 1 > output/one.txt"), SUBMIT)
    first = respond(client, "Remember.")
    script.play(bash("cat note.txt input/new.txt > output/answer.txt"), SUBMIT)
    content = [
        {"type": "input_text", "text": "What did you remember?"},
        {"type": "input_file", "filename": "new.txt", "file_data": notes},
    ]
    message = {"role": "user", "content": content}
    second = respond(client, [message], previous_response_id=first.id)
    assert second.output_text == "kept\nmore"
    assert second.metadata["run"] == first.metadata["run"]
    assert [each["filename"] for each in second.model_dump()["sandbox"]["files"]] == ["answer.txt"]
    assert second.usage.input_tokens == 200, "of this round only"
    assert endpoint.history_errors == []
    with pytest.raises(APIStatusError) as refused:
        respond(client, "Fork", previous_response_id=first.id)
    assert second.id in str(refused.value)
    assert refused.value.status_code == 409
    read = client.responses.retrieve(second.id)
    assert read.output_text == second.output_text
    assert [item.id for item in read.output] == [item.id for item in second.output]
    with pytest.raises(APIStatusError) as missing:
        client.responses.retrieve("resp_none0000.1")
    assert missing.value.status_code == 404


def test_one_of_many_continuations_runs_and_the_others_leave_no_files(
    client: OpenAI, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.play(SUBMIT)
    first = respond(client)
    script.play(bash("ls input > output/answer.txt"), SUBMIT)

    def go_on(number: int) -> str | int:
        file = {"type": "input_file", "filename": f"{number}.txt", "file_data": "eA=="}
        content = [{"type": "input_text", "text": "List the files."}, file]
        message = {"role": "user", "content": content}
        try:
            return str(respond(client, [message], previous_response_id=first.id).output_text)
        except APIStatusError as error:
            return error.status_code

    with monkeypatch.context() as full:
        full.setattr(queue, "MAX_WAITING", 0)
        assert go_on(8) == 429
    with ThreadPoolExecutor(8) as together:
        results = list(together.map(go_on, range(8)))
    assert results.count(409) == 7
    [winner] = [number for number in range(8) if results[number] != 409]
    assert results[winner] == f"{winner}.txt"


def test_the_python_example_saves_files_in_their_folders(
    studio_url: str, token: str, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("a,b\n")
    script.play(
        bash("mkdir output/charts; cp input/data.csv output/charts/1.txt; echo 1 >> log"), SUBMIT,
        bash("echo 2 >> log; wc -l < log > output/answer.txt"), SUBMIT,
    )  # fmt: skip
    example = example_containing("client.files.create").replace("http://127.0.0.1:7860", studio_url)
    names: dict[str, Any] = {}
    exec(
        f"{example}\nclient.close()".replace("studio_…", token).replace("NAME@", "test-model@"),
        names,
    )
    assert (tmp_path / "results" / "charts" / "1.txt").read_text() == "a,b\n"
    assert names["more"].output_text == "2", "the same sandbox"


@pytest.mark.parametrize(
    ("changed", "param"),
    [
        ({"model": PLAIN}, "model"),
        ({"instructions": "Other"}, "instructions"),
        ({"extra_body": {"sandbox": {"network": "none"}}}, "sandbox.network"),
        ({"extra_body": {"sandbox": {"prompt": "math"}}}, "sandbox.prompt"),
        ({"previous_response_id": "resp_x"}, "previous_response_id"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)
def test_what_a_sandbox_cannot_change_is_refused(
    client: OpenAI, script: Script, changed: dict[str, Any], param: str
) -> None:
    script.play(SUBMIT)
    first = respond(client)
    with pytest.raises(APIStatusError) as refused:
        respond(client, **{"previous_response_id": first.id, **changed})
    assert refused.value.param == param


def test_a_failed_run_ends_its_stream_as_failed(client: OpenAI, script: Script) -> None:
    script.play(bash("echo begun"), Turn(fault="401", message="Wrong key"))
    *_, last = respond(client, stream=True)
    assert last.type == "response.failed"
    assert last.response.error.code == "run_failed"
    assert "Wrong key" in last.response.error.message


def test_an_unfinished_round_is_incomplete(client: OpenAI, script: Script) -> None:
    script.answer = lambda _: bash("true")
    response = respond(client, extra_body={"sandbox": {"max_steps": 1}})
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"


def test_a_call_that_cannot_be_understood_is_a_failed_call(client: OpenAI, script: Script) -> None:
    script.play(Turn(calls=[Call("execute_bash", "{")]), SUBMIT)
    response = respond(client)
    call = response.output[0]
    assert (call.type, call.status) == ("mcp_call", "failed")
    assert call.error.type == "mcp_tool_execution_error"
    assert response.model_dump_json(), "a value that OpenAI's types do not have is a warning"
