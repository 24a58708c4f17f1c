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


def test_paging_in_either_direction_yields_every_line_once() -> None:
    content = log_text(9000)
    page, seen_text = view(content), []
    while True:
        seen_text += page_lines(page)
        if page["end"] == page["size"]:
            break
        page = view(content, start=str(page["end"]))
    assert seen_text == content.splitlines()
    page = view(content, end="1")
    seen_text = page_lines(page)
    while page["start"]:
        page = view(content, before=str(page["start"]))
        seen_text = page_lines(page) + seen_text
    assert seen_text == content.splitlines()


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
    ignored = [page_lines(view(content, encoding=name)) for name in ("rot13", "no-such")]
    assert ignored[0] == ignored[1]


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


def test_lines_are_counted_and_located_by_number_and_offsets_are_clamped() -> None:
    content = log_text(500)
    assert view(content, count="1")["lines"] == 500
    at = view(content, line="432")["offset"]
    assert content[at:].startswith(LINE % 433)
    assert page_lines(view(content, start="-5")) == content.splitlines()
    assert page_lines(view(content, start="99999999")) == []
    assert page_lines(view(content, around="99999999")) == []


def test_highlighting_within_a_string_is_correct_and_is_off_where_it_is_slow() -> None:
    source = 'x = 1\ns = """\n' + "not = 'code'\n" * 6000 + '"""\ny = None\n'
    page = view(source, "long.py", start=str(view(source, "long.py")["end"]))
    assert page["rows"][0] == [["syn-string", "not = 'code'"]]
    far_into = 's = """\n' + "not = 'code' # 1\n" * 60_000 + '"""\n'
    assert view(far_into, "huge.py", end="1")["rows"][0] == ["not = 'code' # 1"]
    slow = "<" * 20_000
    assert "".join(page_lines(view(f"{slow}\n", "bad.html"))) == slow


def test_terminal_colours_are_kept_and_other_escapes_removed() -> None:
    content = "\x1b[1;31mred\x1b[0m \x1b]0;title\x07\x1b[2Kplain \x1b[38;5;46mgreen\x1b[m\n"
    assert view(content)["rows"][0] == [
        ["term-31 term-b", "red"],
        " ",
        "plain ",
        ["term-32", "green"],
    ]


def test_unchanged_pages_are_identified() -> None:
    content = log_text(3000)
    first, last = view(content), view(content, end="1")
    ranges = ",".join(f"{each['start']}-{each['end']}-{each['checksum']}" for each in (first, last))
    changed = content.replace("0002999", "changed")
    assert view(changed, unchanged=ranges)["unchanged"] == [True, False]


# In the browser


def scroller(canvas: Locator) -> Locator:
    return canvas.locator(".lines")


LINE_NUMBER = """row => {
  const page = row.parentElement, start = +page.style.counterReset.split(" ")[1];
  const before = [...page.children].slice(0, [...page.children].indexOf(row) + 1);
  return start + before.filter((each) => !each.matches(".continuation")).length;
}"""
"""The line number displayed beside a row."""


def test_a_long_log_opens_at_either_end_with_few_elements(viewer: FileViewer) -> None:
    canvas = viewer.view("long.log", log_text(20_000).encode())
    expect(canvas.locator(".row").first).to_have_text((LINE % 1).strip())
    canvas.get_by_role("button", name="End of the file").click()
    last = canvas.locator(".row").last
    expect(last).to_have_text((LINE % 20_000).strip())
    expect(last).to_be_in_viewport()
    expect(canvas.locator(".unnumbered")).to_have_count(0)
    assert last.evaluate(LINE_NUMBER) == 20_000
    for _ in range(12):
        scroller(canvas).evaluate("each => (each.scrollTop = 0)")
        viewer.page.wait_for_function(
            "each => each.scrollTop > 0", arg=scroller(canvas).element_handle()
        )
    assert canvas.locator(".page").count() <= 8
    canvas.get_by_role("button", name="Start of the file").click()
    expect(canvas.locator(".row").first).to_have_text((LINE % 1).strip())
    expect(canvas.locator(".row").first).to_be_in_viewport()


def test_go_to_line_and_search_cover_the_whole_file(viewer: FileViewer) -> None:
    content = log_text(30_000) + "a Needle\n" + log_text(10) + "the needle again\n"
    canvas = viewer.view("long.log", content)
    canvas.get_by_label("Go to line").fill("24,444")
    canvas.get_by_label("Go to line").press("Enter")
    now = canvas.locator(".row.current")
    expect(now).to_have_text((LINE % 24_444).strip())
    expect(now).to_be_in_viewport()
    assert now.evaluate(LINE_NUMBER) == 24_444
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


def test_a_changed_file_keeps_its_position_and_is_followed_only_at_its_end(
    viewer: FileViewer,
) -> None:
    canvas = viewer.view("grow.log", log_text(400))
    position = canvas.locator(".position")
    expect(canvas.locator(".row").first).to_be_in_viewport()
    scroller(canvas).evaluate("each => (each.scrollTop = 4000)")
    expect(position).to_have_text(re.compile("^line [^1].* of 400$"))
    where = position.inner_text().removesuffix("400")
    viewer.write("grow.log", log_text(500).replace("0000300", "changed"))
    expect(canvas.get_by_text("line changed of")).to_be_attached()
    expect(position).to_have_text(f"{where}500")
    canvas.get_by_role("button", name="End of the file").click()
    expect(canvas.get_by_text((LINE % 500).strip())).to_be_in_viewport()
    viewer.write("grow.log", log_text(600))
    expect(canvas.get_by_text((LINE % 600).strip())).to_be_in_viewport()


def test_lines_are_numbered_highlighted_and_harmless(viewer: FileViewer) -> None:
    markup = "<img src=x onerror='window.hacked=1'>"
    hostile = f"{markup}\naccess \u202elevel\u2066\x07 \x1b[31mred\x1b[0m\n"
    viewer.write("hostile.log", hostile)
    canvas = viewer.view("tool.py", b"import os\n\n\ndef main():\n    return 'x'\n")
    rows = canvas.locator(".row")
    expect(rows).to_have_count(5)
    expect(canvas.locator(".syn-keyword").first).to_have_text("import ")
    assert rows.nth(3).evaluate(LINE_NUMBER) == 4
    expect(canvas.locator(".position")).to_have_text("line 1 of 5")
    viewer.show("hostile.log")
    expect(rows.first).to_have_text(markup)
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


def test_the_encoding_can_be_selected_and_wrapping_is_remembered(viewer: FileViewer) -> None:
    viewer.write("cyrillic.txt", "жук\r\n".encode("koi8-r"))
    canvas = viewer.view("a.txt", b"word " * 200)
    wrap = canvas.get_by_role("button", name="Wrap")
    expect(wrap).to_have_attribute("aria-pressed", "true")
    wrap.click()
    assert scroller(canvas).evaluate("each => each.scrollWidth > each.clientWidth")
    viewer.show("cyrillic.txt")
    expect(wrap).to_have_attribute("aria-pressed", "false")
    expect(canvas.locator(".line-endings")).to_have_text("CRLF")
    canvas.get_by_label("Encoding").select_option("koi8-r")
    expect(canvas.locator(".row").first).to_have_text("жук")
