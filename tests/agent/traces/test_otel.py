"""Spans: their tree, times and attributes, and a collector that takes or refuses them."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agent.cli.main import main
from agent.errors import TraceError
from agent.traces.formats import otel
from agent.traces.journal_items import items_of
from agent.traces.otlp import send_spans
from tests.agent.traces.test_exports import run_events
from tests.support.recorded_runs import write_ended_run

pytestmark = pytest.mark.contract


class Collector(BaseHTTPRequestHandler):
    """Takes everything but what has the wrong key."""

    received: ClassVar[list[tuple[str, dict[str, Any]]]]

    def do_POST(self) -> None:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        ok = self.headers["api-key"] == "a key"
        if ok:
            self.received.append((self.path, json.loads(body)))
        self.send_response(200 if ok else 401)
        self.end_headers()
        self.wfile.write(b"{}" if ok else b"wrong\nkey")

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def collector() -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    Collector.received = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(server.serve_forever)
        yield f"http://127.0.0.1:{server.server_port}", Collector.received
        server.shutdown()


def spans_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    spans: list[dict[str, Any]] = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return spans


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def test_a_round_has_a_span_for_each_turn_and_call() -> None:
    spans = spans_of(json.loads("".join(otel.write(items_of(run_events()), "r1"))))
    assert [span["name"] for span in spans] == [
        "chat m", "execute_tool execute_bash", "execute_tool execute_bash", "chat m",
        "invoke_agent llm-in-sandbox-studio", "invoke_agent llm-in-sandbox-studio",
    ]  # fmt: skip
    first, call, _, _, root, _ = spans
    assert {span["traceId"] for span in spans} == {first["traceId"]}
    assert len({span["spanId"] for span in spans}) == len(spans)
    assert first["parentSpanId"] == call["parentSpanId"] == root["spanId"]
    assert "parentSpanId" not in root
    found = (first["startTimeUnixNano"], first["endTimeUnixNano"])
    assert found == ("1000500000000", "1002000000000")
    values = attributes(first)
    assert values["gen_ai.usage.input_tokens"] == "90"
    assert values["gen_ai.usage.cache_read.input_tokens"] == "50"
    assert json.loads(values["gen_ai.output.messages"])[0]["parts"][0]["type"] == "reasoning"
    assert attributes(call)["gen_ai.tool.call.result"] == "out"
    assert call["status"]["code"] == 2


def test_the_command_sends_spans_to_the_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_ended_run(tmp_path).id
    monkeypatch.setenv("STUDIO_DATA", str(tmp_path))
    with collector() as (url, received):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20key")
        assert main(["export", run, "--format", "otel"]) == 0
        ((path, request),) = received
        assert path == "/v1/traces"
        assert len(spans_of(request)) == 2
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=other")
        assert main(["export", run, "--format", "otel"]) == 1
    assert "refused the spans with status 401: wrong key" in capsys.readouterr().err


def test_a_collector_that_is_not_there_is_said() -> None:
    with pytest.raises(TraceError, match=r"could not be sent to http://127\.0\.0\.1:9/v1/traces"):
        send_spans(["{}"], "http://user:secret@127.0.0.1:9/")
