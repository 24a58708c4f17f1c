"""``/v1/files``: uploads given to runs, and who may see them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openai import APIStatusError, NotFoundError, OpenAI

from sandbox_ui.auth.api_tokens import Tokens
from tests.sandbox_ui.conftest import Script
from tests.sandbox_ui.openai_api.conftest import chat, respond
from tests.support import httpx
from tests.support.comparisons import SUBMIT, bash

pytestmark = pytest.mark.contract


def test_a_file_is_uploaded_listed_read_and_deleted(client: OpenAI) -> None:
    stored = client.files.create(file=("data.csv", b"a,b\n1,2\n"), purpose="user_data")
    assert (stored.filename, stored.bytes, stored.status) == ("data.csv", 8, "processed")
    assert stored.id in [file.id for file in client.files.list()]
    assert client.files.retrieve(stored.id).bytes == 8
    assert client.files.content(stored.id).content == b"a,b\n1,2\n"
    assert client.files.delete(stored.id).deleted
    with pytest.raises(NotFoundError):
        client.files.retrieve(stored.id)
    assert stored.id not in [file.id for file in client.files.list()]


def test_an_uploaded_file_is_given_to_any_number_of_runs(client: OpenAI, script: Script) -> None:
    stored = client.files.create(file=("data.csv", b"1,2"), purpose="user_data")
    file = {"type": "file", "file": {"file_id": stored.id}}
    script.play(*[bash("cat input/data.csv > output/answer.txt"), SUBMIT] * 2)
    content = [{"type": "text", "text": "Read it."}, file]
    completion = chat(client, messages=[{"role": "user", "content": content}])
    assert completion.choices[0].message.content == "1,2"
    assert respond(client, message_with(stored.id)).output_text == "1,2"
    client.files.delete(stored.id)


def message_with(file_id: str) -> list[dict[str, Any]]:
    """Return the input of a response with a file."""
    file = {"type": "input_file", "file_id": file_id}
    return [{"role": "user", "content": [{"type": "input_text", "text": "Read it."}, file]}]


def test_a_file_with_a_hostile_name_stays_in_input(client: OpenAI, script: Script) -> None:
    script.play(bash("ls input > output/answer.txt"), SUBMIT)
    names = ["../../x.txt", "a/b\\c.txt", "..", "x.txt"]
    files = [{"type": "file", "file": {"filename": name, "file_data": "eA=="}} for name in names]
    content: Any = [{"type": "text", "text": "List them."}, *files]
    done = chat(client, messages=[{"role": "user", "content": content}])
    assert done.choices[0].message.content == "c.txt\nfile\nx (2).txt\nx.txt"


@pytest.mark.parametrize("file_id", ["file-x", "file-x.y", "file-" + "a" * 16 + ".Li4v", "%00"])
def test_an_id_that_names_no_file_is_not_found(http: httpx.Client, file_id: str) -> None:
    for path in (f"/v1/files/{file_id}", f"/v1/files/{file_id}/content"):
        answer = http.get(path)
        assert answer.status_code == 404
        assert answer.json()["error"]["type"] == "invalid_request_error"


def test_a_file_of_a_run_is_not_deleted_alone(client: OpenAI, script: Script) -> None:
    script.play(bash("echo 1 > output/a.txt"), SUBMIT)
    response = respond(client)
    [made] = response.model_dump()["sandbox"]["files"]
    with pytest.raises(APIStatusError) as refused:
        client.files.delete(made["id"])
    assert refused.value.status_code == 409


def test_another_user_sees_neither_files_nor_responses(
    client: OpenAI, script: Script, studio_url: str, data: Path
) -> None:
    stored = client.files.create(file=("secret.txt", b"secret"), purpose="user_data")
    script.answer = lambda _: SUBMIT
    response = respond(client)
    other = Tokens(data).create("v:another", "other")[1]
    with OpenAI(base_url=f"{studio_url}/v1", api_key=other, max_retries=0) as stranger:
        assert list(stranger.files.list()) == []
        attempts: list[Callable[[], object]] = [
            lambda: stranger.files.retrieve(stored.id),
            lambda: stranger.files.content(stored.id),
            lambda: stranger.files.delete(stored.id),
            lambda: stranger.responses.retrieve(response.id),
            lambda: respond(stranger, "On", previous_response_id=response.id),
            lambda: respond(stranger, message_with(stored.id)),
        ]
        for attempt in attempts:
            with pytest.raises(NotFoundError):
                attempt()
    client.files.delete(stored.id)


def test_an_upload_without_a_file_or_for_another_purpose_is_refused(http: httpx.Client) -> None:
    for arguments, param in (
        ({"data": {"purpose": "user_data"}, "files": {"other": b"x"}}, "file"),
        ({"data": {"purpose": "batch"}, "files": {"file": b"x"}}, "purpose"),
        ({"content": b"x"}, None),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}, None),
    ):
        answer = http.post("/v1/files", **arguments)
        assert answer.status_code == 400, answer.text
        if param:
            assert answer.json()["error"]["param"] == param
