"""The report of a run: what it contains, what it leaves out, and what cannot get out of it."""

import base64
import hashlib
import io
import json
import re
import shutil
import tracemalloc
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import docx
import openpyxl
import pytest

from agent.errors import RunError
from agent.events import (
    Forked,
    StepStarted,
    StepVerified,
    ToolOutput,
    ToolStarted,
    Totals,
)
from agent.report.budget import Budget
from agent.report.redaction import Redactor
from agent.report.report import report_parts, save_report, write_report
from agent.runs.folder import Parent, RunFolder
from agent.workspace.versions.log import ManifestLog
from agent.workspace.versions.manifest import Delta, Node
from tests.agent.documents.test_text import create_pdf
from tests.agent.report.recorded import PNG, Recorder, hostile_run
from tests.support.component.events import continued, started, tool_ended
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
HANDLER = re.compile(r"on\w+")


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its texts outside scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.texts.append(data)

    def all(self, tag: str) -> Iterator[dict[str, str | None]]:
        return (attributes for name, attributes in self.elements if name == tag)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def report(run: RunFolder | Path, budget: Budget | None = None) -> str:
    return "".join(report_parts(run, budget))


def test_a_report_tells_the_task_the_steps_the_figures_and_the_settings(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.step("cat lakes.csv", "three lakes\n", text="I **read** the table.")
    recorder.step("false", "no such lake\n", exit_code=1)
    text = Elements(report(recorder.end())).text
    for expected in (
        "Count the lakes.", "There are three lakes.", "I ", "read", "$ cat lakes.csv",
        "three lakes", "exit 1", "First the files.", "You have a computer.", "test-model",
        "100 steps", "120 minutes", "sha256:abc", "All prompts", "3,000", "File management in 2",
    ):  # fmt: skip
        assert expected in text


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_that_a_run_says_becomes_markup(tmp_path: Path, attack: str) -> None:
    text = report(hostile_run(tmp_path, attack))
    page = Elements(text)
    assert {tag for tag, _ in page.elements} <= {
        "html", "head", "meta", "title", "style", "body", "header", "footer", "main", "section",
        "article", "figure", "figcaption", "details", "summary", "div", "span", "p", "pre", "code",
        "h1", "h2", "h3", "b", "i", "small", "a", "dl", "dt", "dd", "svg", "rect", "button",
        "table", "thead", "tbody", "tr", "th", "td", "img", "iframe", "script", "em", "strong",
        "ul", "ol", "li", "blockquote", "br", "hr", "s",
    }  # fmt: skip
    for tag, attributes in page.elements:
        assert not [name for name in attributes if HANDLER.fullmatch(name)], tag
        assert "style" not in attributes
        for name in ("href", "src"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:image/png;base64,", "http://", "https://"))
    policies = [each["http-equiv"] for each in page.all("meta") if "http-equiv" in each]
    assert policies == ["Content-Security-Policy", "x-dns-prefetch-control"]
    assert all(each["sandbox"] == "" for each in page.all("iframe"))
    kinds = [each.get("type") for each in page.all("script")]
    assert kinds == ["text/plain"] * (len(kinds) - 2) + ["application/json", None]


def test_the_policy_admits_the_reports_own_script_only(tmp_path: Path) -> None:
    text = report(write_ended_run(tmp_path))
    policy = next(each["content"] or "" for each in Elements(text).all("meta") if "content" in each)
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}'; ")
    assert "unsafe-eval" not in policy
    assert "http" not in policy


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
    text = report(recorder.end(answer=secret))
    page = Elements(text)
    hidden = next(line for line in secret.splitlines()[-1:]) if "\n" not in secret else "MIIE"
    assert hidden not in page.text
    assert page.text.count(shown) >= 5
    data = re.search(r'<script type="text/plain" id="content-1">(.*?)</script>', text)
    assert data is not None
    assert hidden.encode() not in base64.b64decode(data[1])


def test_a_key_that_is_known_is_redacted() -> None:
    redactor = Redactor(["correct-horse-battery", "short"])
    assert redactor.redact("correct-horse-battery short") == "[key] short"
    found = redactor.redact("task-aaaaaaaaaaaaaaaaaaaa https://x.org/home/a/b")
    assert found == "task-aaaaaaaaaaaaaaaaaaaa https://x.org/home/a/b"


def test_a_long_output_is_shortened_and_says_so(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.step("seq", f"begin {'x' * 5_000} end")
    text = Elements(report(recorder.end(), Budget(text=1_000))).text
    assert "4,010 characters left out here" in text
    assert "begin xxx" in text
    assert "xxx end" in text


def test_a_stored_output_is_read_from_its_file_and_nothing_else(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    (tmp_path / "secret").write_text("of the host")
    (recorder.folder.outputs / "1-a.stdout").write_text(f"first{'.' * 300_000}last")
    (recorder.folder.outputs / "link").symlink_to(tmp_path / "secret")
    recorder.write(StepStarted(step=1, note="", at=recorder.at + 1))
    for name in ("1-a.stdout", "../../../secret", "link", "gone"):
        recorder.write(
            ToolStarted(step=1, call_id=name, name="execute_bash", arguments={}, summary="x"),
            ToolOutput(step=1, call_id=name, stream="stdout", text="tail", output_file=name),
            tool_ended(1, name),
        )
    text = Elements(report(recorder.end())).text
    assert re.search(r"first\.+236,009 bytes left out here\.+last", text)
    assert "of the host" not in text
    assert text.count("The output (stdout) was not kept.") == 3


def test_files_are_in_the_report_as_they_were_after_each_step(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    table = b"lake,depth\nSee,3\n"
    recorder.step(files={"output/a.txt": b"first", "b.png": PNG, "data.csv": table})
    recorder.step(files={"output/a.txt": b"second", "b.png": None})
    text = report(recorder.end())
    page = Elements(text)
    divs = [each for each in page.all("div") if "data-since" in each]
    versions = [(each["data-since"], each.get("data-until")) for each in divs]
    assert versions == [("1", "2"), ("2", None), ("1", None), ("1", "2")]
    assert "deleted in step 2" in page.text
    assert "lakedepthSee3" in page.text
    assert f"data:image/png;base64,{base64.b64encode(PNG).decode()}" in text
    assert base64.b64encode(b"second").decode() in text


def test_files_over_the_budget_are_named_and_results_go_first(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.step(files={"a.bin": b"\0" * 900, "output/z.bin": b"\1" * 900})
    text = report(recorder.end(), Budget(files=1_000))
    assert base64.b64encode(b"\1" * 900).decode() in text
    assert base64.b64encode(b"\0" * 900).decode() not in text
    assert "The file (900 bytes) is not in the report" in text
    assert not [*Elements(report(recorder.folder, Budget(files=0))).all("button")]


def test_an_exported_folder_is_reported_without_following_links(tmp_path: Path) -> None:
    folder = Recorder(tmp_path / "data").end()
    exported = tmp_path / "exported"
    (exported / "files").mkdir(parents=True)
    shutil.copy(folder.journal, exported)
    (exported / "files" / "answer.txt").write_text("three")
    (tmp_path / "secret").write_text("of the host")
    (exported / "files" / "link.txt").symlink_to(tmp_path / "secret")
    text = Elements(report(exported)).text
    assert "answer.txt" in text
    assert "of the host" not in text
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(folder.journal, alone)
    assert "This record has no files." in Elements(report(alone / "journal.jsonl")).text


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
    text = Elements(report(recorder.folder)).text
    assert "a.txt" in text
    assert "The run's record is damaged: manifests.jsonl cannot be read from byte " in text


def test_an_unknown_step_number_or_order_breaks_nothing(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.write(
        StepStarted(step=7, note="", at=float("inf")),
        ToolOutput(step=7, call_id="unknown", stream="stdout", text="lost", at=-1e300),
        StepStarted(step=7, note="", at=0),
        started("again", mode="plain", at=1),
    )
    text = report(recorder.folder)
    data = re.search(r'id="report-data">(.*?)</script>', text)
    assert data is not None
    assert [each["step"] for each in json.loads(data[1])["steps"]] == [1, 2]


def test_forks_and_replays_say_so(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.step()
    recorder.write(
        StepVerified(step=1, verdict="unverified", notes=("It needs the network.",)),
        Forked(parent="other-run", step=1, totals=Totals()),
        continued(""),
    )
    text = report(recorder.end())
    assert "Replay: not verified. It needs the network." in text
    assert "Fork: steps up to 1 are those of run other-run." in text
    assert text.count('class="task"') == 1
    folder = RunFolder.create(tmp_path, "sandbox-2", parent=Parent("other-run", 3), imported="")
    folder.journal.write_bytes(recorder.folder.journal.read_bytes())
    assert "fork of other-run after step 3" in report(folder)
    folder = RunFolder.create(tmp_path, "sandbox-2", imported="ATIF")
    folder.journal.write_bytes(recorder.folder.journal.read_bytes())
    assert "imported (ATIF)" in report(folder)


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
    file = io.BytesIO()
    write_report(write_ended_run(tmp_path), file)
    assert target.read_bytes().startswith(b"<!doctype html>")
    assert file.getvalue().endswith(b"</html>\n")
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
    assert size > 11_000_000
    assert peak < 3_000_000


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
                         "archive.zip": letter.getvalue()})  # fmt: skip
    page = Elements(report(recorder.end()))
    for expected in (
        "The first page.", "Dear reader, [key]", "Superior", "406", "Only its text",
        "No preview: it has no text, needs a password or is damaged.",
        "No preview of this kind of file.",
    ):  # fmt: skip
        assert expected in page.text
    assert len([*page.all("table")]) == 1
