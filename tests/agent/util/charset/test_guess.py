"""The encoding of texts, also of those that are too short to tell it."""

import pytest

from agent.util.charset.guess import guess_encoding


@pytest.mark.parametrize(
    ("text", "encoding", "languages"),
    [
        ("姓名,年龄\n张三,30\n", "gb18030", []),
        ("中文", "gb18030", []),
        ("姓名,年齡\n王小明,30\n", "big5", []),
        ("こんにちは", "euc_jp", []),
        ("데이터,값\n서울,1\n", "cp949", []),
        ("氏名,年齢\n田中,30\n", "cp932", []),
        ("氏名,年齢\n田中,30\n", "euc_jp", ["ja", "en"]),
        ("中文資料", "big5", ["zh-TW"]),
        ("5 €", "cp1252", []),
        ("5 €", "iso8859_15", []),
        ("it’s 25 °C", "cp1252", ["zh-CN"]),
        ("Größe", "cp1252", ["ja"]),
        ("Größe", "cp850", ["de"]),
        ("Český Krumlov", "cp1250", ["cs"]),
        ("Привет", "cp1251", []),
        ("Привет", "koi8_r", ["en"]),
        ("МОСКВА", "cp1251", ["ru"]),
        ("שלום", "cp1255", ["he-IL"]),
        ("สวัสดี", "cp874", ["th"]),
    ],
)
def test_a_short_text_is_read_as_people_write(
    text: str, encoding: str, languages: list[str]
) -> None:
    content = text.encode(encoding)
    assert content.decode(guess_encoding(content, 0, languages).encoding) == text


def test_an_encoding_is_assumed_if_another_one_fits_as_well() -> None:
    assert guess_encoding("氏名".encode("euc_jp"), 0, ["ja"]).assumed
    assert not guess_encoding("Café, 5 €".encode("cp1252")).assumed
    assert not guess_encoding("Das Straßencafé in Köln. ".encode("cp1252") * 300).assumed


def test_a_few_invalid_bytes_do_not_change_the_encoding() -> None:
    assert guess_encoding("äöü".encode() * 9 + b"\xff", 54).encoding == "utf-8"
