"""The editor on bytes: edits leave everything else unchanged, and messages are accurate."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import ToolError
from agent.tools.editor import (
    MAX_SNIPPET_CHARACTERS,
    MAX_VIEW_CHARACTERS,
    create,
    insert,
    str_replace,
    view,
)

PATH = "/workspace/a.txt"
no_deadline = settings(deadline=None)


def shown_lines(text: str) -> list[tuple[int, str]]:
    """Return the numbered lines of a view."""
    return [(int(n), line) for n, line in re.findall(r"^ *(\d+)\t(.*)$", text, re.MULTILINE)]


class TestBytes:
    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(b"a\tb\nKEY\n\tc\n", id="tabs"),
            pytest.param(b"a\r\nKEY\r\nb\r\n", id="CRLF"),
            pytest.param(b"a\nKEY\r\nb\n", id="mixed line ends"),
            pytest.param(b"a\nKEY", id="no line end at the end"),
            pytest.param(b"a\x0cb\nKEY\x0b\x1c\xc2\x85\n", id="form feeds"),
            pytest.param(b"\xef\xbb\xbfKEY\n", id="UTF-8 byte order mark"),
            pytest.param(b"caf\xe9 KEY \xff\xfe\n", id="latin-1"),
            pytest.param(b"\x1b[31mKEY\x1b[0m\x00\n", id="control characters"),
            pytest.param(b"a\rKEY\rb", id="lone carriage returns"),
            pytest.param("KEY Zoë 🎈\r\n".encode(), id="beyond ASCII"),
        ],
    )
    def test_str_replace_changes_nothing_else(self, data: bytes) -> None:
        assert str_replace(data, PATH, "KEY", "VALUE").data == data.replace(b"KEY", b"VALUE")

    @pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
    def test_a_utf16_file_is_edited_in_utf16(self, codec: str) -> None:
        bom = "\ufeff".encode(codec)
        data = bom + "Zoë\r\n🎈\r\n".encode(codec)
        assert str_replace(data, PATH, "Zoë\n🎈", "Ÿ\n🎉").data == bom + "Ÿ\r\n🎉\r\n".encode(codec)
        assert "encoded in UTF-16" in view(data, PATH)


class TestView:
    def test_numbers_lines_like_cat_n_and_keeps_tabs(self) -> None:
        assert view(b"", PATH) == f"(empty file: {PATH})"
        assert view(b"a\n\tb\n", PATH) == (
            f"Here's the content of {PATH}, numbered as by `cat -n`:\n     1\ta\n     2\t\tb"
        )

    def test_a_range_shows_only_its_lines(self) -> None:
        data = b"".join(b"line %d\n" % n for n in range(1, 11))
        assert shown_lines(view(data, PATH, (3, 4))) == [(3, "line 3"), (4, "line 4")]
        assert shown_lines(view(data, PATH, (9, -1))) == [(9, "line 9"), (10, "line 10")]
        assert shown_lines(view(data, PATH, (9, 99))) == [(9, "line 9"), (10, "line 10")]
        assert view(data, PATH, (3, 4)).endswith("(lines 3-4 of 10)")

    @pytest.mark.parametrize("wrong", [(0, 1), (4, 4), (-1, -1), (2, 1), (1, 0), (1, -2)])
    def test_a_range_outside_the_file_is_refused(self, wrong: tuple[int, int]) -> None:
        with pytest.raises(ToolError, match=rf"^Invalid view_range \[{wrong[0]}, {wrong[1]}\]"):
            view(b"a\nb\nc\n", PATH, wrong)

    def test_a_line_of_ten_megabytes_is_truncated_with_its_length(self) -> None:
        page = view(b"x" * 10_000_000 + b"\nend\n", PATH)
        left = 10_000_000 - page.count("x", page.index("1\t"), page.index("[…"))
        assert f"[… {left} more characters in this line]" in page
        assert "Line 1 is too long" in page
        assert "<response clipped>" in page
        assert len(page) < MAX_VIEW_CHARACTERS + 500

    def test_any_range_of_a_ten_megabyte_file_is_shown(self) -> None:
        data = b"0123456789\n" * 1_000_000
        page = view(data, PATH, (999_999, -1))
        assert shown_lines(page) == [(999_999, "0123456789"), (1_000_000, "0123456789")]

    def test_line_endings_and_undecodable_bytes_are_mentioned(self) -> None:
        assert "(lines end in CRLF)" in view(b"a\r\nb\r\n", PATH)
        assert "(1 of 2 lines end in CRLF)" in view(b"a\r\nb\n", PATH)
        assert "(no line end after the last line)" in view(b"a\nb", PATH)
        assert "(� stands for a byte that is not text)" in view("é€ñ\n".encode() + b"\xff", PATH)

    def test_control_characters_are_escaped(self) -> None:
        assert shown_lines(view(b"\x1b[31mred\x07\rover\n", PATH)) == [(1, "␛[31mred␇␍over")]

    def test_a_binary_file_is_reported_as_binary(self) -> None:
        with pytest.raises(ToolError, match=r"is a binary file \(6 bytes, beginning with 89 50"):
            view(b"\x89PNG\x00\x01", PATH)

    def test_only_line_ends_end_a_line(self) -> None:
        text = "a\r\n\n\x0cb\x0b\x1cc\x85d\u2028e\n\tlast"
        rows = view(text.encode(), PATH).split("\n")[1:5]
        assert [row.partition("\t")[0].strip() for row in rows] == ["1", "2", "3", "4"]
        assert [len(row.partition("\t")[2]) for row in rows] == [1, 0, 9, 5]


class TestCreate:
    @no_deadline
    @given(st.text(st.characters(exclude_categories=["Cs"])))
    def test_a_file_holds_exactly_the_text(self, text: str) -> None:
        assert create(PATH, text).data == text.encode()

    def test_create_reports_size_without_echoing_the_text(self) -> None:
        message = create(PATH, "first\nsecond é").message
        assert message.startswith(f"File created at {PATH}. ")
        assert "2 lines, 15 bytes, without a line end after the last line" in message
        assert "second" not in message


class TestStrReplace:
    def test_unchanged_lines_keep_their_line_endings(self) -> None:
        data = b"a\r\nb\nc\r\nd\n"
        assert str_replace(data, PATH, "a\nb\nc\nd", "a\nb\nC\nd").data == b"a\r\nb\nC\r\nd\n"

    def test_a_crlf_line_ending_is_never_split(self) -> None:
        assert str_replace(b"a\r\nb\r\n", PATH, "\nb", "X").data == b"aX\r\n"

    def test_line_endings_can_be_changed_explicitly(self) -> None:
        assert str_replace(b"a\r\nb\r\n", PATH, "a\r\nb", "a\nb").data == b"a\nb\r\n"
        assert str_replace(b"a\nb\n", PATH, "a\nb", "a\r\nb").data == b"a\r\nb\n"

    def test_new_lines_take_the_line_ending_of_the_edited_line(self) -> None:
        assert str_replace(b"a\r\nKEY", PATH, "KEY", "x\ny").data == b"a\r\nx\r\ny"

    @pytest.mark.parametrize(
        ("data", "old", "new", "message"),
        [
            (b"abc", "x", "y", f"^No occurrences of old_str found in {PATH} for repl"),
            ("é€ñ".encode() + b"\xff", "ñ�", "y", "cannot be matched"),
            (b"x x\n\nx\n", "x", "y", r"^Multiple occurrences \(3\) .* in lines 1, 1, 3\. "),
            (b"x\n" * 100, "x", "y", r"\(100\) .* in lines 1, 2, 3, 4, 5, …\."),
            (b"aaa", "aa", "y", r"Multiple occurrences \(2\)"),
            (b"a\n", "a", "a", "nothing would change"),
            (b"a\r\nb\r\n", "a\nb", "a\r\nb", "nothing would change"),
            (b"", "", "a", "old_str is empty"),
            (
                "Привет, мир\n".encode("cp1251"),
                "мир",
                "漢字",
                "1251, which does not have the character 漢",
            ),
        ],
    )
    def test_an_impossible_edit_is_refused_with_the_reason(
        self, data: bytes, old: str, new: str, message: str
    ) -> None:
        with pytest.raises(ToolError, match=message):
            str_replace(data, PATH, old, new)

    def test_the_snippet_has_four_lines_of_context(self) -> None:
        data = b"".join(b"line %d\n" % n for n in range(1, 21))
        message = str_replace(data, PATH, "line 10\n", "ten\n").message
        assert message.startswith(f"The file {PATH} has been edited. Here's a snippet of {PATH}:\n")
        assert shown_lines(message)[0] == (6, "line 6")
        assert (10, "ten") in shown_lines(message)
        assert len(shown_lines(message)) <= 10

    def test_the_snippet_of_a_huge_line_is_small(self) -> None:
        data = b"x" * 10_000_000 + b"KEY"
        assert len(str_replace(data, PATH, "KEY", "y").message) < MAX_SNIPPET_CHARACTERS

    def test_an_edit_that_empties_a_file_reports_it_as_empty(self) -> None:
        edited = str_replace(b"all", PATH, "all", "")
        assert (edited.data, edited.message.endswith("It is empty now.")) == (b"", True)

    def test_utf8_inserted_between_invalid_bytes_is_reported(self) -> None:
        broken = "é€ñ KEY".encode() + b"\xff"
        edited = str_replace(broken, PATH, "KEY", "Zoë")
        assert edited.data == "é€ñ Zoë".encode() + b"\xff"
        assert "what you added was written as UTF-8" in edited.message


class TestLegacyEncodings:
    """A file in a legacy encoding is shown decoded and written back in its encoding."""

    @pytest.mark.parametrize(
        ("codec", "text", "old", "new"),
        [
            ("latin-1", "Größe: 5\r\nMaß: KEY\r\n", "Maß: KEY", "Maße: ü"),
            ("cp1252", "“naïve” costs 5 €\n", "5 €", "6 €"),
            ("cp1251", "Привет, мир\n", "мир", "свет"),
            ("cp1251", "name = value  # число\n" * 50 + "KEY\n", "KEY", "строка"),
            ("koi8-r", "Пример текста\n", "текста", "строки"),
            ("cp932", "日本語のテキスト\n", "テキスト", "表"),
            ("gb18030", "简体中文文本文件\n", "文件", "档案"),
        ],
    )
    def test_an_edit_keeps_the_encoding(self, codec: str, text: str, old: str, new: str) -> None:
        data = text.encode(codec)
        first = text.splitlines()[0]
        assert shown_lines(view(data, PATH))[0] == (1, first)
        assert "it seems; edits keep it)" in view(data, PATH)
        edited = str_replace(data, PATH, old, new)
        assert edited.data == text.replace(old, new).encode(codec)
        assert "�" not in edited.message
        assert insert(data, PATH, 0, new).data.decode(codec).splitlines() == [
            new,
            *text.splitlines(),
        ]


class TestInsert:
    @pytest.mark.parametrize("at", [-1, 3])
    def test_a_line_outside_the_file_is_refused(self, at: int) -> None:
        with pytest.raises(ToolError, match=rf"^Invalid insert_line {at}\. Must be in \[0, 2\]\.$"):
            insert(b"a\nb\n", PATH, at, "x")

    def test_inserted_lines_take_the_neighbours_line_ending(self) -> None:
        assert insert(b"a\r\nb\n", PATH, 1, "x\ny").data == b"a\r\nx\r\ny\r\nb\n"
        assert insert(b"a\nb\r\n", PATH, 1, "x").data == b"a\nx\nb\r\n"
        assert insert(b"a\r\nb", PATH, 2, "x").data == b"a\r\nb\r\nx"

    def test_the_success_message_shows_the_changed_lines(self) -> None:
        message = insert(b"a\nb\n", PATH, 1, "x").message
        assert message.startswith(f"The file {PATH} has been edited. ")
        assert shown_lines(message) == [(1, "a"), (2, "x"), (3, "b")]
