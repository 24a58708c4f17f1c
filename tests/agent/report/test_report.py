"""The report of a run: what it contains, what it leaves out, and what cannot get out of it."""

import base64
import hashlib
import io
import json
import re
import shutil
import tracemalloc
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pytest

from agent.errors import RunError
from agent.events import (
    ReasoningDelta,
    StepStarted,
    TextDelta,
    ToolOutput,
    ToolStarted,
)
from agent.report import page
from agent.report.budget import Budget
from agent.report.redaction import Redactor
from agent.report.report import report_parts, save_report
from agent.runs.folder import Parent, RunFolder
from agent.workspace.versions.manifest import Delta, ManifestLog, Node
from tests.agent.documents.test_text import create_pdf
from tests.agent.report.recorded import PNG, Recorder, hostile_run
from tests.support.component.events import started, tool_ended
from tests.support.recorded_runs import write_ended_run

ATTACKS = [
    "</script><script>window.hacked=1</script>",
    "</pre></style><img src=x onerror=window.hacked=1>",
    '" onmouseover="window.hacked=1" x="',
    "' autofocus onfocus='window.hacked=1",
    "javascript:window.hacked=1",
    "<svg onload=window.hacked=1><iframe srcdoc='<script>parent.hacked=1</script>'>",
    "}</style><link rel=stylesheet href=http://127.0.0.1:9/x.css><style>*{background:url(//x)",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'><base href=//x>",
    "--><!--<script>window.hacked=1</script>\x00\x1b]0;x\x07\udc80",
    '-----BEGIN PRIVATE KEY-----</p>-----END PRIVATE KEY-----"><script>window.hacked=1</script>',
]
HANDLER = re.compile(r"<[^>]*(\son\w+=|javascript:)", re.IGNORECASE)


class Elements(HTMLParser):
    """The elements of a page with their attributes, its blocks of data, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.blocks: dict[str, str] = {}
        self.text = ""
        self._block: str | None = None
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside, attributes = tag, dict(attrs)
        self._block = attributes.get("id") if tag == "script" and "type" in attributes else None
        if self._block is None:
            self.elements.append((tag, attributes))
        else:
            self.blocks[self._block] = ""

    def handle_data(self, data: str) -> None:
        if self._block is not None:
            self.blocks[self._block] += data
        elif self._inside not in ("script", "style"):
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        self._block, self._inside = None, ""

    def all(self, tag: str) -> Iterator[dict[str, str | None]]:
        return (attributes for name, attributes in self.elements if name == tag)

    def json(self, name: str = "record") -> Any:
        return json.loads(zlib.decompress(self.data(name)))

    def data(self, name: str) -> bytes:
        return base64.b64decode(self.blocks[name])

    def versions(self, path: str) -> list[dict[str, Any]]:
        return next(each["versions"] for each in self.json()["files"] if each["path"] == path)


def report(run: RunFolder | Path, budget: Budget | None = None) -> Elements:
    return Elements("".join(report_parts(run, budget)))


def test_a_report_has_the_record_for_the_page_and_a_text_for_readers_without_scripts(
    tmp_path: Path,
) -> None:
    recorder = Recorder(tmp_path)
    recorder.step("cat lakes.csv", "three lakes\n", text="I **read** the table.")
    recorder.step("false", "no such lake\n", exit_code=1)
    page = report(recorder.end())
    for expected in ("Count the lakes.", "$ cat lakes.csv", "Mode: sandbox", "Image: sha256:abc"):
        assert expected in page.text
    record = page.json()
    assert record["state"]["state"]["rounds"][0]["answer"] == "There are three lakes."
    assert record["tokens"]["totals"]["prompt"] == 3_000
    assert ["Limits of a round", "100 steps, 120 minutes"] in record["settings"]
    kinds = [each["kind"] for each in page.json("events-2")]
    assert (kinds[0], kinds[-1]) == ("step_started", "step_ended")
    answered = next(at for at, each in enumerate(page.json("events-1")) if "calls" in each)
    assert page.json("markdown-1") == {str(answered): "<p>I <strong>read</strong> the table.</p>\n"}
    assert "markdown-2" not in page.blocks


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_that_a_run_says_becomes_markup(tmp_path: Path, attack: str) -> None:
    harmless, page = (
        report(Recorder(tmp_path / "other").end()),
        report(hostile_run(tmp_path, attack)),
    )
    assert page.elements == harmless.elements
    for name in page.blocks:
        page.data(name) if name.startswith("content-") else page.json(name)
    for name, each in page.blocks.items():
        assert re.fullmatch(r"[A-Za-z0-9+/=]+", each), name
    markdown = [page.json(name) for name in page.blocks if name.startswith("markdown-")]
    rendered = "".join(each for texts in markdown for each in texts.values())
    assert not HANDLER.search(rendered)


def test_the_policy_admits_the_reports_own_script_only(tmp_path: Path) -> None:
    text = "".join(report_parts(write_ended_run(tmp_path)))
    policy = next(each["content"] or "" for each in Elements(text).all("meta") if "content" in each)
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}'; ")
    assert "unsafe-eval" not in policy
    assert "http" not in policy


def test_without_the_bundle_a_report_is_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "_FRAME", tmp_path / "missing.html")
    shown = report(hostile_run(tmp_path, ATTACKS[0]))
    assert page.NO_VIEW in shown.text
    assert ATTACKS[0] in shown.text
    assert not [*shown.all("script")]
    assert any("script-src 'none'" in (each.get("content") or "") for each in shown.all("meta"))


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ("sk-proj-abcdefghijklmnop1234", "[key]"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[key]"),
        ("AKIAABCDEFGHIJKLMNOP", "[key]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\nAB==\n-----END RSA PRIVATE KEY-----", "[key]"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE cut off", "[key]"),
        ('{"Authorization": "Bearer abcdefgh12345678"}', "Bearer [key]"),
        ("/home/alice/lakes.csv", "~/lakes.csv"),
        ("/Users/Alice/lakes.csv", "~/lakes.csv"),
        (r"C:\Users\Alice\lakes.csv", r"~\lakes.csv"),
    ],
)
def test_keys_and_home_folders_are_redacted_in_texts_and_files(
    tmp_path: Path, secret: str, shown: str
) -> None:
    recorder = Recorder(tmp_path, task=f"Use {secret} .")
    recorder.step(secret, secret, text=secret, files={"output/a.txt": f"it is {secret}".encode()})
    page = report(recorder.end(answer=secret))
    hidden = next(line for line in secret.splitlines()[-1:]) if "\n" not in secret else "MIIE"
    for name in ("record", "events-1"):
        texts = json.dumps(page.json(name))
        assert json.dumps(hidden)[1:-1] not in texts
        assert texts.count(json.dumps(shown)[1:-1]) >= 2
    assert hidden not in page.text
    assert hidden.encode() not in page.data("content-1")


def test_a_key_in_pieces_of_a_streamed_text_is_redacted(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.write(
        StepStarted(step=1, note="", at=1),
        ReasoningDelta(step=1, text="use sk-proj-abcdef", at=1),
        ReasoningDelta(step=1, text="ghijklmnop1234 now", at=2),
    )
    recorder.end()
    pieces = [each["text"] for each in report(recorder.folder).json("events-1") if "text" in each]
    assert "".join(pieces) == "use [key] now"
    assert len(pieces) == 2


def test_a_key_that_is_known_is_redacted() -> None:
    redactor = Redactor(["correct-horse-battery", "short"])
    assert redactor.redact("correct-horse-battery short") == "[key] short"
    found = redactor.redact("task-aaaaaaaaaaaaaaaaaaaa https://x.org/home/a/b")
    assert found == "task-aaaaaaaaaaaaaaaaaaaa https://x.org/home/a/b"


def test_a_long_output_is_shortened_and_says_so(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.step("seq", f"begin {'x' * 5_000} end")
    events = report(recorder.end(), Budget(text=1_000)).json("events-1")
    text = next(each["text"] for each in events if each["kind"] == "tool_output")
    assert text.startswith("begin xxx")
    assert text.endswith("xxx end")
    assert "\n… 4,010 characters left out …\n" in text


def test_of_a_text_in_many_pieces_the_first_and_the_last_are_kept(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.write(StepStarted(step=1, note="", at=1))
    recorder.write(*(TextDelta(step=1, text=f"{at:03} ", at=at) for at in range(1_000)))
    recorder.end()
    events = report(recorder.folder, Budget(text=400)).json("events-1")
    text = "".join(each["text"] for each in events if each["kind"] == "text_delta")
    assert text.startswith("000 001 ")
    assert text.endswith("998 999 ")
    assert "characters left out" in text
    assert len(text) < 500


def test_a_stored_output_is_read_from_its_file_and_nothing_else(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    (tmp_path / "secret").write_text("of the host")
    (recorder.folder.outputs / "1-a.stdout").write_text(f"first{'.' * 300_000}last")
    (recorder.folder.outputs / "link").symlink_to(tmp_path / "secret")
    recorder.write(StepStarted(step=1, note="", at=recorder.at + 1))
    for name in ("1-a.stdout", "../../../secret", "link", "gone"):
        recorder.write(
            ToolStarted(step=1, call_id=name, name="execute_bash", arguments={}, summary="x"),
            ToolOutput(step=1, call_id=name, stream="stdout", text="streamed"),
            ToolOutput(step=1, call_id=name, stream="stdout", text="tail", output_file=name),
            tool_ended(1, name),
        )
    events = report(recorder.end()).json("events-1")
    first, *others = [each["text"] for each in events if each["kind"] == "tool_output"]
    assert re.fullmatch(r"first\.+\n… 236,209 bytes left out …\n\.+last", first)
    assert others == ["The output (stdout) was not kept."] * 3


def test_files_are_in_the_report_as_they_were_after_each_step(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    table = b"lake,depth\nSee,3\n"
    recorder.step(files={"output/a.txt": b"first", "b.png": PNG, "data.csv": table})
    recorder.step(files={"output/a.txt": b"second", "b.png": None})
    page = report(recorder.end())
    first, second = page.versions("output/a.txt")
    assert (first["step"], second["step"]) == (1, 2)
    assert page.data(f"content-{first['content']}") == b"first"
    assert page.data(f"content-{second['content']}") == b"second"
    shown, removed = page.versions("b.png")
    assert page.json()["contents"][shown["content"]]["type"] == "image/png"
    assert page.data(f"content-{shown['content']}") == PNG
    assert removed == {"step": 2, "kind": None}
    (csv,) = page.versions("data.csv")
    sheet = page.json(f"view-{csv['content']}")["sheets"][0]
    assert sheet["rows"] == [["lake", "depth"], ["See", "3"]]


def test_files_over_the_budget_are_named_and_results_go_first(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.step(files={"a.bin": b"\0" * 900, "output/z.bin": b"\1" * 900})
    page = report(recorder.end(), Budget(files=1_000))
    (result,), (other,) = page.versions("output/z.bin"), page.versions("a.bin")
    assert page.data(f"content-{result['content']}") == b"\1" * 900
    assert "content" not in other
    assert "over the size of files" in other["not_kept"]
    assert report(recorder.folder, Budget(files=0)).json()["contents"] == {}


def test_an_exported_folder_is_reported_without_following_links(tmp_path: Path) -> None:
    folder = Recorder(tmp_path / "data").end()
    exported = tmp_path / "exported"
    (exported / "files").mkdir(parents=True)
    shutil.copy(folder.journal, exported)
    (exported / "files" / "answer.txt").write_text("three")
    (tmp_path / "secret").write_text("of the host")
    (exported / "files" / "link.txt").symlink_to(tmp_path / "secret")
    page = report(exported)
    assert [each["path"] for each in page.json()["files"]] == ["answer.txt"]
    assert page.data("content-1") == b"three"
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(folder.journal, alone)
    assert report(alone / "journal.jsonl").json()["files"] == []


@pytest.mark.parametrize(
    "line", ['{"step": 1e999, "changed": {}, "removed": []}', '{"step": 2, "chan', "[]"]
)
def test_a_damaged_list_of_files_is_called_that_after_what_is_readable(
    tmp_path: Path, line: str
) -> None:
    recorder = Recorder(tmp_path)
    recorder.end()
    delta = Delta(changed={"output/a.txt": Node("file", 5, 0o644)})
    ManifestLog(recorder.folder.manifests).append(1, delta)
    with recorder.folder.manifests.open("a") as file:
        file.write(f"{line}\n")
    record = report(recorder.folder).json()
    assert [each["path"] for each in record["files"]] == ["output/a.txt"]
    damage = "The run's record is damaged: manifests.jsonl cannot be read from byte "
    assert record["notes"][0].startswith(damage)


def test_an_unknown_step_number_or_order_breaks_nothing(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.write(
        StepStarted(step=7, note="", at=float("inf")),
        ToolOutput(step=7, call_id="unknown", stream="stdout", text="lost", at=-1e300),
        StepStarted(step=7, note="", at=0),
        started("again", mode="plain", at=1),
    )
    state = report(recorder.folder).json()["state"]["state"]
    assert [each["step"] for each in state["steps"]] == [7, 7]
    assert state["rounds"][-1]["cut"]  # the page does not wait for a run that has not ended


def test_a_run_says_what_it_was_made_from(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "sandbox-2", parent=Parent("other-run", 3), imported="ATIF")
    folder.journal.write_bytes(Recorder(tmp_path).end().journal.read_bytes())
    state = report(folder).json()["state"]
    assert (state["parent"]["run"], state["parent"]["step"]) == ("other-run", 3)
    assert state["imported"] == "ATIF"


def test_a_run_that_has_not_begun_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="has not begun"):
        report(RunFolder.create(tmp_path, "sandbox-1"))
    with pytest.raises(RunError, match="is not a run"):
        report(tmp_path)


def test_a_report_is_saved_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("the one before")
    with pytest.raises(RunError):
        save_report(RunFolder.create(tmp_path, "sandbox-1"), target, Budget())
    assert target.read_text() == "the one before"
    save_report(write_ended_run(tmp_path), target, Budget())
    assert target.read_bytes().startswith(b"<!doctype html>")
    assert target.read_bytes().endswith(b"</html>\n")
    assert not [*tmp_path.glob(".*")]


def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    for _ in range(60):
        recorder.step(output="x" * 60_000)
    recorder.step(files={"output/large.bin": b"\0" * 6_000_000})
    recorder.end()
    report(write_ended_run(tmp_path))  # everything is imported
    tracemalloc.start()
    size = sum(map(len, report_parts(recorder.folder)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 8_000_000
    assert peak < 6_000_000


@pytest.mark.contract
def test_documents_show_their_text_and_workbooks_their_sheets(tmp_path: Path) -> None:
    paper, letter, workbook = create_pdf(["The first page."]), io.BytesIO(), io.BytesIO()
    document = docx.Document()
    document.add_paragraph("Dear reader, sk-0123456789abcdef0123")
    document.save(letter)
    book = openpyxl.Workbook()
    book.active.append(["lake", "depth"])
    book.active.append(["Superior", 406])
    book.save(workbook)
    recorder = Recorder(tmp_path)
    recorder.step(files={"output/paper.pdf": paper, "output/letter.docx": letter.getvalue(),
                         "output/lakes.xlsx": workbook.getvalue(), "broken.pdf": paper[:40],
                         "archive.zip": b"PK\0\0"})  # fmt: skip
    page = report(recorder.end())

    def view(path: str) -> Any:
        return page.json(f"view-{page.versions(path)[0]['content']}")

    assert "The first page." in view("output/paper.pdf")["text"]
    assert "Dear reader, [key]" in view("output/letter.docx")["text"]
    names, cells = view("output/lakes.xlsx")["sheets"][0]["rows"]
    assert (names, cells[0], float(cells[1])) == (["lake", "depth"], "Superior", 406)
    assert "needs a password or is damaged" in view("broken.pdf")["error"]
    archive = page.versions("archive.zip")[0]["content"]
    assert page.json()["contents"][archive]["kind"] == "hex"
