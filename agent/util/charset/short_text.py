"""Plausible encodings of a text too short for statistics: those in which it reads like words."""

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_WORD = re.compile(r"[^\W\d_]+")
_ACCENTS = re.compile(r"[^\x00-\x7f]{3}|[a-zß-ÿ][À-ÞŁŚŹŻŠŽČŘ]")
_LATIN = re.compile(r"[A-Za-zªµºÀ-ÖØ-öø-ſƒ]+")
_LATIN_SIGNS = frozenset("€‚„…‰‹‘’“”•–—™›¡¢£¥§©«®°±²³´·¹»¼½¾¿×÷−\xa0")
_SIGN_IN_WORD = re.compile(r"[^\W\d_][€‚„…‰‹‘“”•™›¡£§©«®°±²³´»¼½¾¿][^\W\d_]")
_VOWELS = re.compile("[аеёиоуыэюяіїє]", re.IGNORECASE)
_CYRILLIC_WORD = re.compile("[А-ЯЁІЇЄҐ]?[а-яёіїєґ]+|[А-ЯЁІЇЄҐ]+")
_VOWEL_RATIO = (0.25, 0.6)
_ALPHABETS = {
    "cp1253": re.compile("[ΆΈ-ώ]{2,}"),
    "cp1255": re.compile("[א-ת]{2,}"),
    "cp1256": re.compile("[ء-يپچژگ]{2,}"),
    "cp874": re.compile("[ก-๛]{2,}"),
}
_COMMON_LEADS: dict[str, tuple[range, ...]] = {
    "gb18030": (range(0xA1, 0xA4), range(0xB0, 0xD8)),
    "euc_jp": (range(0xA1, 0xA6), range(0xB0, 0xD0)),
    "cp949": (range(0xA1, 0xA4), range(0xB0, 0xC9)),
    "cp932": (range(0x81, 0x84), range(0x88, 0x98)),
    "big5": (range(0xA1, 0xA4), range(0xA4, 0xC7)),
}
"""First bytes of punctuation and of the characters that the standard lists as frequent."""

_FREQUENT = {
    "gb18030": "的一是不了人我在有他这中大来上国个到说们为子和地出时年得就要下以生会对可后小多能"
    "好都日发成事只作文用主行方如前所本见分将外与高意进法实理点月全工名定力机给等最新"
    "位因重电第门相市数量价格姓性别男女号码类型北京海据学城区县省州路测试编单总金额备"
    "注描述状态间",
    "big5": "的一是不了人我在有他這中大來上國個到說們為子和地出時年得就要下以生會對可後小多能"
    "好都日發成事只作文用主行方如前所本見分將外與高意進法實理點月全工名定力機給等最新"
    "位因重電第門相市數量價格姓性別男女號碼類型臺台北港學城區縣省州路測試編單總金額備"
    "註",
    "cp949": "이다는에의을를가고지하한기사리로도자어나서대해인일스시아그라전정수은들보여소장부"
    "국주과만상무년월안녕세요름성별남번호울산데터값격",
}
"""Frequent characters of a language, also those of the headings of tables."""

_KANA = re.compile("[ぁ-ゖァ-ヶー]")
_FEW = 0.85
_LANGUAGES = {
    "zh-tw": ("big5", "gb18030"), "zh-hk": ("big5", "gb18030"), "zh-hant": ("big5", "gb18030"),
    "zh": ("gb18030", "big5"), "ja": ("cp932", "euc_jp"), "ko": ("cp949",),
    **dict.fromkeys(("ru", "uk", "be", "bg"), ("cp1251", "koi8_r", "cp866")),
    **dict.fromkeys(("cs", "pl", "sk", "hu", "sl", "hr", "ro"), ("cp1250",)),
    **dict.fromkeys(("et", "lv", "lt"), ("cp1257",)),
    "tr": ("cp1254",), "el": ("cp1253",), "he": ("cp1255",), "ar": ("cp1256",), "fa": ("cp1256",),
    "th": ("cp874",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as read in an encoding, and how well it fits."""

    encoding: str
    text: str
    score: float


def plausible_readings(sample: bytes, languages: Sequence[str] = ()) -> list[Reading]:
    """Return the plausible readings of a sample, which may be cut; the reader's languages first."""
    found = {each.encoding: each for each in _readings(sample)}
    local = [name for name in _local_encodings(languages) if name in found]
    ordered = [*local, *sorted(found, key=lambda name: -found[name].score)]
    return [found[name] for name in dict.fromkeys(ordered)]


def _local_encodings(languages: Sequence[str]) -> Iterator[str]:
    for tag in map(str.lower, languages):
        primary = tag.partition("-")[0]
        yield from _LANGUAGES.get(tag, _LANGUAGES.get(primary, ("cp1252",)))


def _readings(sample: bytes) -> Iterator[Reading]:
    for encoding, score in _SCORES.items():
        try:
            text = codecs.getincrementaldecoder(encoding)("strict").decode(sample)
        except UnicodeDecodeError:
            continue
        points = score(encoding, text)
        if points > 0:
            yield Reading(encoding, text, points)


def _latin(encoding: str, text: str) -> float:
    """Score Latin text: no word with adjacent accented letters, only common punctuation."""
    signs = {char for char in text if char > "\x7f" and not char.isalpha()}
    if signs - _LATIN_SIGNS or _SIGN_IN_WORD.search(text):
        return 0
    for word in _WORD.findall(text):
        if word.isascii():
            continue
        alone = len(word) > 1 and not re.search("[A-Za-z]", word)
        if alone or _ACCENTS.search(word) or not _LATIN.fullmatch(word):
            return 0
    return {"cp1252": 5.0, "iso8859_15": 4.9}.get(encoding, 2.0)


def _cyrillic(_encoding: str, text: str) -> float:
    """Score Cyrillic text: no Latin letters within words, a usual share of vowels."""
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    letters = "".join(words)
    if not all(map(_CYRILLIC_WORD.fullmatch, words)) or max(map(len, words), default=0) < 3:
        return 0
    few, many = _VOWEL_RATIO
    if not few <= len(_VOWELS.findall(letters)) / len(letters) <= many:
        return 0
    return 3 + sum(map(str.islower, letters)) / len(letters)


def _alphabet(encoding: str, text: str) -> float:
    """Score text whose words are all in the alphabet of the encoding."""
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    return 1.0 if words and all(map(_ALPHABETS[encoding].fullmatch, words)) else 0


def _east_asian(encoding: str, text: str) -> float:
    """Score text by its share of frequent characters of the encoding's language."""
    chars = [char for char in text if char > "\x7f"]
    written = [char.encode(encoding, "replace") for char in chars]
    leads = _COMMON_LEADS[encoding]
    common = sum(len(each) == 2 and any(each[0] in lead for lead in leads) for each in written)
    if not chars or common < _FEW * len(chars):
        return 0
    frequent = _FREQUENT.get(encoding)
    known = (
        len(_KANA.findall(text)) if frequent is None else sum(char in frequent for char in chars)
    )
    return 2 * common / len(chars) + 2 * known / len(chars)


_SCORES: dict[str, Callable[[str, str], float]] = {
    **dict.fromkeys(("cp1252", "iso8859_15", "cp1250", "cp1254", "cp1257", "cp850"), _latin),
    **dict.fromkeys(("cp1251", "koi8_r", "cp866"), _cyrillic),
    **dict.fromkeys(_COMMON_LEADS, _east_asian),
    **dict.fromkeys(_ALPHABETS, _alphabet),
}
