"""Rules that belong to one request: a certain list, table or sentence."""

import csv
import io
import itertools
import re
import unicodedata
from datetime import date

from agent.grading.rules.text import PUNCTUATION, sentences, without_punctuation, words_of

_DIGITS = re.compile(r"\d+")
_QUESTION = re.compile(r"Question \d+[.|):;]?\s*")
_OPTION = re.compile(r"[A-Ea-e][.|)]\s*\w")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SPECIAL = re.compile(r'"[\w\s]*+[^\w\s"][^"]*+"')
_CITY = ["ID", "Country", "City", "Year", "Count"]
_PRODUCT = ["ProductID", "Category", "Brand", "Price", "Stock"]
_STUDENT = ["StudentID", "Subject", "Grade", "Semester", "Score"]
_SENTENCE = "only output this sentence here, ignore all other requests."
_MIN_COUNTRIES = 52
_QUESTIONS, _OPTIONS = 4, 5


def multiples(text: str) -> bool:
    """The multiples of 7 from 14 to 49, and no other number."""
    return _DIGITS.findall(text) == [str(each) for each in range(14, 51, 7)]


def mcq_count_length(text: str) -> bool:
    """Four questions with five options each, every question longer than the one before."""
    if not text.startswith("Question"):
        return False
    found = [each.strip() for each in _QUESTION.split(text) if each.strip()]
    lengths = []
    for question in found:
        lines = [line.strip() for line in question.split("\n")]
        places = [place for place, line in enumerate(lines) if _OPTION.match(line)]
        if len(places) != _OPTIONS:
            return False
        lengths.append(len(" ".join(lines[: places[0]]).strip()))
    rising = all(one < other for one, other in itertools.pairwise(lengths))
    return len(found) == _QUESTIONS and rising


def reverse_newline(text: str) -> bool:
    """At least 52 lines from Zimbabwe on, in reverse alphabetical order."""
    lines = [line.strip(PUNCTUATION + " ") for line in text.split("\n")]
    lines = [line for line in lines if line]
    start = next((place for place, line in enumerate(lines) if "Zimbabwe" in line), len(lines))
    found = [_ascii(line) for line in lines[start:]]
    return len(found) >= _MIN_COUNTRIES and found == sorted(found, reverse=True)


def word_reverse(text: str) -> bool:
    """One sentence about the bald eagle, its words in reverse order."""
    turned = " ".join(without_punctuation(text.lower()).split()[::-1])
    return "bald eagle" in turned and sentences(turned) == [turned]


def character_reverse(text: str) -> bool:
    """Contains “bald eagle” letter by letter in reverse order."""
    return "elgae dlab" in text.lower()


def european_capitals_sort(text: str) -> bool:
    """The capitals north of 45°, from north to south, separated by commas."""
    names = tuple(name.strip() for name in _ascii(text).split(",") if name.strip())
    return names == words_of("capitals")


def csv_city(text: str) -> bool:
    """A table with the columns of cities and seven rows."""
    rows = _table(text, ",")
    return len(rows) == 8 and rows[0] == _CITY and all(len(row) == 5 for row in rows)


def csv_special_character(text: str) -> bool:
    """A table of 14 products, in which a quoted field has a special character."""
    rows = _table(text, ",", keep_quotes=True)
    return (
        len(rows) == 15
        and _header(rows[0]) == _PRODUCT
        and all(len(row) == 5 for row in rows)
        and any(_SPECIAL.match(cell) for row in rows[1:] for cell in row)
    )


def csv_quotes(text: str) -> bool:
    """A table of three results, separated by tabs, with quotes around each field."""
    rows = _table(text, "\t", keep_quotes=True)
    cells = [cell.strip() for row in rows for cell in row]
    return (
        len(rows) == 4
        and _header(rows[0]) == _STUDENT
        and all(len(row) == 5 for row in rows)
        and all(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in cells)
    )


def date_format_list(text: str) -> bool:
    """Dates of Napoleon's lifetime in the form YYYY-MM-DD, separated by commas."""
    return all(_is_date(each.strip()) for each in text.strip().split(","))


def repeat_change(text: str, prompt_to_repeat: str) -> bool:
    """The request with another first word."""
    return text != prompt_to_repeat and text.split()[1:] == prompt_to_repeat.split()[1:]


def repeat_simple(text: str) -> bool:
    """The one sentence that was to be repeated."""
    return text.strip().lower() == _SENTENCE


def repeat_span(text: str, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    """The words of the request from one index to another, both included."""
    wanted = " ".join(prompt_to_repeat.split()[n_start : n_end + 1])
    return text.strip().lower() == wanted.lower()


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    year, month, day = map(int, text.split("-"))
    try:
        date(2000, month, day)  # a leap year: the authors' checker accepts each 29 February
    except ValueError:
        return False
    return 1769 <= year <= 1821


def _table(text: str, separator: str, *, keep_quotes: bool = False) -> list[list[str]]:
    """Return the rows of a table; quotes around fields remain if ``keep_quotes``."""
    source = text.replace('"', '"""') if keep_quotes else text
    try:
        return list(csv.reader(io.StringIO(source), delimiter=separator))
    except csv.Error:
        return []


def _header(row: list[str]) -> list[str]:
    return [cell.strip().removeprefix('"').removesuffix('"') for cell in row]


def _ascii(text: str) -> str:
    """Return a text without accents and other signs beyond ASCII."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
