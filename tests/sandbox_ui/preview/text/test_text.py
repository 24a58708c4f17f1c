"""The text preview: paging, highlighting, search, line numbers, encodings, growing files."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from sandbox_ui.preview.text import text
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.rendering import preview_data

LINE = "line %07d of a long log\n"


def view(content: str | bytes | Path, name: str = "file.txt", **options: str) -> dict[str, Any]:
    return preview_data(text.view, content, name, **options)


def row_text(row: list[Any]) -> str:
    return "".join(piece if isinstance(piece, str) else piece[1] for piece in row)


def page_lines(page: dict[str, Any]) -> list[str]:
    return [row_text(row) for row in page["rows"]]


def log_text(count: int) -> str:
    return "".join(LINE % number for number in range(1, count + 1))


def test_paging_forward_yields_every_line_once() -> None:
    content = log_text(9000)
    page, seen_text = view(content), []
    while True:
        seen_text += page_lines(page)
        if page["end"] == page["size"]:
            break
        page = view(content, start=str(page["end"]))
    assert seen_text == log_text(9000).splitlines()


def test_paging_backward_yields_every_line_once() -> None:
    content = log_text(9000)
    page = view(content, end="1")
    seen_text = page_lines(page)
    while page["start"]:
        page = view(content, before=str(page["start"]))
        seen_text = page_lines(page) + seen_text
    assert seen_text == log_text(9000).splitlines()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", "gb18030"])
def test_a_long_line_is_split_between_characters(encoding: str) -> None:
    content = ("漢字😀é" * 30_000).encode(encoding)
    page, seen_text = view(content, encoding=encoding), ""
    while True:
        seen_text += "".join(page_lines(page))
        if page["end"] == page["size"]:
            break
        page = view(content, start=str(page["end"]), encoding=page["encoding"])
        assert page["starts_within_line"]
    assert seen_text == "漢字😀é" * 30_000


def test_a_page_has_at_most_a_thousand_lines() -> None:
    content = "x\n" * 20_000
    first, last = view(content), view(content, end="1")
    assert len(first["rows"]) == len(last["rows"]) == 1000
    before = view(content, before=str(last["start"]))
    assert (len(before["rows"]), before["end"]) == (1000, last["start"])


def test_reading_the_end_costs_the_same_for_any_file_size(tmp_path: Path) -> None:
    path = tmp_path / "sparse.log"
    with path.open("wb") as file:
        file.seek(2 * 1024**3)
        file.write(b"\nthe last line\n")
    page = view(path, end="1")
    assert page_lines(page)[-1] == "the last line"
    assert page["end"] - page["start"] <= 64 * 1024


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("häß 漢字\n".encode(), "utf-8"),
        ("\ufeffäöü\n".encode(), "utf-8"),
        ("Grüße\n".encode("utf-16"), "utf-16-le"),
        ("“Zitat” für 5 €, naïve café, très bien\n".encode("cp1252") * 20, "cp1252"),
        ("Привет, как дела? Это проверка\n".encode("cp1251") * 20, "cp1251"),
        ("これは日本語のテキストです。\n".encode("shift_jis") * 20, "cp932"),
        ("mostly right äöü\n".encode() * 20 + b"\xff broken\n", "utf-8"),
    ],
)
def test_the_encoding_is_detected(content: bytes, encoding: str) -> None:
    page = view(content)
    assert page["encoding"] == encoding
    assert not page_lines(page)[0].startswith("\ufeff")


def test_the_encoding_can_be_overridden() -> None:
    content = "жук\n".encode("koi8-r")
    assert page_lines(view(content, encoding="koi8-r")) == ["жук"]
    assert page_lines(view(content, encoding="rot13")) == page_lines(
        view(content, encoding="no-such")
    )


@pytest.mark.parametrize(
    ("content", "ends", "expected"),
    [
        ("a\r\nb\r\n", "crlf", ["a", "b"]),
        ("a\rb\r", "cr", ["a", "b"]),
        ("a\r\nb\n", "mixed", ["a", "b"]),
        ("a\n\nb", "lf", ["a", "", "b"]),
        ("", "lf", []),
    ],
)
def test_line_ends_are_detected(content: str, ends: str, expected: list[str]) -> None:
    page = view(content)
    assert (page["line_ending"], page_lines(page)) == (ends, expected)


@pytest.mark.parametrize(
    ("words", "case", "count"), [("Änd", "1", 1), ("änd", "0", 2), ("LINE", "0", 300)]
)
def test_search_returns_byte_offsets(words: str, case: str, count: int) -> None:
    content = (log_text(300) + "the Änd, or the änd\n").encode()
    found = view(content, find=words, match_case=case)["matches"]
    assert len(found) == count
    assert all(content[at:].decode().lower().startswith(words.lower()) for at in found)


def test_a_limited_search_can_be_continued() -> None:
    content = "needle " * 5000
    first = view(content, find="needle")
    assert len(first["matches"]) == 1000
    rest = view(content, find="needle", start=str(first["next"]))
    assert rest["matches"][0] == first["matches"][-1] + len("needle ")


def test_lines_are_counted_and_located_by_number() -> None:
    content = log_text(5000)
    assert view(content, count="1")["lines"] == 5000
    at = view(content, line="4321")["offset"]
    assert content[at:].startswith(LINE % 4322)


def test_highlighting_is_correct_when_a_page_starts_within_a_string() -> None:
    source = 'x = 1\ns = """\n' + "not = 'code'\n" * 6000 + '"""\ny = None\n'
    page = view(source, "long.py", start=str(view(source, "long.py")["end"]))
    assert page["rows"][0] == [["s", "not = 'code'"]]


def test_highlighting_is_off_far_into_a_long_program() -> None:
    source = 's = """\n' + "not = 'code' # 1\n" * 60_000 + '"""\n'
    assert view(source, "huge.py", end="1")["rows"][0] == ["not = 'code' # 1"]


def test_terminal_colours_are_kept_and_other_escapes_removed() -> None:
    content = "\x1b[1;31mred\x1b[0m \x1b]0;title\x07\x1b[2Kplain \x1b[38;5;46mgreen\x1b[m\n"
    assert view(content)["rows"][0] == [["t 31 b", "red"], " ", "plain ", ["t 32", "green"]]


def test_slow_highlighting_falls_back_to_plain_text() -> None:
    content = "<" * 20_000 + "\n"
    assert "".join(page_lines(view(content, "bad.html"))) == "<" * 20_000


def test_unchanged_pages_are_identified() -> None:
    content = log_text(3000)
    first, last = view(content), view(content, end="1")
    ranges = ",".join(f"{each['start']}-{each['end']}-{each['checksum']}" for each in (first, last))
    changed = content.replace("0002999", "changed")
    assert view(changed, unchanged=ranges)["unchanged"] == [True, False]


def test_an_offset_outside_the_file_is_clamped() -> None:
    content = log_text(10)
    assert page_lines(view(content, start="-5")) == log_text(10).splitlines()
    assert page_lines(view(content, start="99999999")) == []
    assert page_lines(view(content, around="99999999")) == []


# In the browser


def scroller(canvas: Locator) -> Locator:
    return canvas.locator(".lines")


def line_number(row: Locator) -> str:
    """The line number displayed beside a row."""
    return str(
        row.evaluate(
            """row => {
              const page = row.parentElement, start = +page.style.counterReset.split(" ")[1];
              const before = [...page.children].slice(0, [...page.children].indexOf(row) + 1);
              return start + before.filter((each) => !each.matches(".continuation")).length;
            }"""
        )
    )


def test_a_program_is_highlighted_with_line_numbers(viewer: FileViewer) -> None:
    canvas = viewer.view("tool.py", b"import os\n\n\ndef main():\n    return 'x'\n")
    expect(canvas.locator(".row")).to_have_count(5)
    expect(canvas.locator(".syn-keyword").first).to_have_text("import ")
    assert line_number(canvas.locator(".row").nth(3)) == "4"
    expect(canvas.locator(".position")).to_have_text("line 1 of 5")


def test_a_long_log_opens_at_either_end_with_few_elements(viewer: FileViewer) -> None:
    canvas = viewer.view("long.log", log_text(20_000).encode())
    expect(canvas.locator(".row").first).to_have_text((LINE % 1).strip())
    canvas.get_by_role("button", name="End of the file").click()
    last = canvas.locator(".row").last
    expect(last).to_have_text((LINE % 20_000).strip())
    expect(last).to_be_in_viewport()
    expect(canvas.locator(".unnumbered")).to_have_count(0)
    assert line_number(last) == "20000"
    for _ in range(12):
        scroller(canvas).evaluate("each => (each.scrollTop = 0)")
        viewer.page.wait_for_function(
            "each => each.scrollTop > 0", arg=scroller(canvas).element_handle()
        )
    assert canvas.locator(".page").count() <= 8
    canvas.get_by_role("button", name="Start of the file").click()
    expect(canvas.locator(".row").first).to_have_text((LINE % 1).strip())
    expect(canvas.locator(".row").first).to_be_in_viewport()


def test_go_to_line_shows_the_line(viewer: FileViewer) -> None:
    canvas = viewer.view("long.log", log_text(60_000).encode())
    canvas.get_by_label("Go to line").fill("44,444")
    canvas.get_by_label("Go to line").press("Enter")
    now = canvas.locator(".row.current")
    expect(now).to_have_text((LINE % 44_444).strip())
    expect(now).to_be_in_viewport()
    assert line_number(now) == "44444"


def test_search_covers_the_whole_file(viewer: FileViewer) -> None:
    canvas = viewer.view(
        "long.log", (log_text(30_000) + "a Needle\n" + log_text(10) + "the needle again\n").encode()
    )
    scroller(canvas).press("Control+f")
    field = canvas.get_by_label("Find in this file")
    expect(field).to_be_focused()
    field.fill("needle")
    tally = canvas.locator(".search .match-count")
    expect(tally).to_have_text("1 of 2")
    expect(canvas.get_by_text("a Needle")).to_be_in_viewport()
    field.press("Enter")
    expect(tally).to_have_text("2 of 2")
    expect(canvas.get_by_text("the needle again")).to_be_in_viewport()
    canvas.get_by_role("button", name="Match case").click()
    expect(tally).to_have_text("1 of 1")
    field.fill("nowhere")
    expect(tally).to_have_text("No matches")
    field.press("Escape")
    expect(field).to_be_hidden()
    expect(scroller(canvas)).to_be_focused()


def test_a_growing_file_is_followed_only_at_its_end(viewer: FileViewer) -> None:
    canvas = viewer.view("grow.log", log_text(400).encode())
    expect(canvas.locator(".row").first).to_be_in_viewport()
    viewer.write("grow.log", log_text(500).encode())
    expect(canvas.locator(".position")).to_have_text("line 1 of 500")
    expect(canvas.locator(".row").first).to_be_in_viewport()
    canvas.get_by_role("button", name="End of the file").click()
    expect(canvas.get_by_text((LINE % 500).strip())).to_be_in_viewport()
    viewer.write("grow.log", log_text(600).encode())
    expect(canvas.get_by_text((LINE % 600).strip())).to_be_in_viewport()


def test_a_change_keeps_the_scroll_position(viewer: FileViewer) -> None:
    canvas = viewer.view("file.txt", log_text(2000).encode())
    scroller(canvas).evaluate("each => (each.scrollTop = 4000)")
    expect(canvas.locator(".position")).to_have_text(re.compile("^line [^1].* of 2,000$"))
    where = canvas.locator(".position").inner_text()
    viewer.write("file.txt", log_text(2000).replace("0000300", "changed").encode())
    expect(canvas.get_by_text("line changed of")).to_be_attached()
    expect(canvas.locator(".position")).to_have_text(where)


def test_invisible_characters_are_marked_and_markup_is_escaped(viewer: FileViewer) -> None:
    hostile = (
        "<img src=x onerror='window.hacked=1'>\naccess \u202elevel\u2066\x07 \x1b[31mred\x1b[0m\n"
    )
    canvas = viewer.view("hostile.log", hostile.encode())
    expect(canvas.locator(".row").first).to_have_text("<img src=x onerror='window.hacked=1'>")
    expect(canvas.locator(".invisible")).to_have_text(["U+202E", "U+2066", "BEL"])
    expect(canvas.locator(".term-31")).to_have_text("red")


def test_a_line_of_megabytes_is_split_into_rows(viewer: FileViewer) -> None:
    canvas = viewer.view("one.txt", b"x" * 5_000_000)
    expect(canvas.locator(".row.continuation").first).to_be_attached()
    canvas.get_by_role("button", name="End of the file").click()
    expect(canvas.locator(".position")).to_contain_text("line 1 of 1")
    longest = canvas.locator(".row").evaluate_all(
        "rows => Math.max(...rows.map(each => each.textContent.length))"
    )
    assert longest <= 2000


def test_wrapping_is_remembered(viewer: FileViewer) -> None:
    viewer.write("b.txt", b"word " * 200)
    canvas = viewer.view("a.txt", b"word " * 200)
    wrap = canvas.get_by_role("button", name="Wrap")
    expect(wrap).to_have_attribute("aria-pressed", "true")
    wrap.click()
    assert scroller(canvas).evaluate("each => each.scrollWidth > each.clientWidth")
    expect(viewer.show("b.txt").get_by_role("button", name="Wrap")).to_have_attribute(
        "aria-pressed", "false"
    )


def test_the_encoding_can_be_selected(viewer: FileViewer) -> None:
    canvas = viewer.view("cyrillic.txt", "жук\r\n".encode("koi8-r"))
    expect(canvas.locator(".line-endings")).to_have_text("CRLF")
    canvas.get_by_label("Encoding").select_option("koi8-r")
    expect(canvas.locator(".row").first).to_have_text("жук")
