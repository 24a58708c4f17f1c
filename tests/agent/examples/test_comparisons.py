"""The comparison examples: their answers are right, computed anew from their inputs."""

import csv
import io
import re
import subprocess
import sys
import textwrap
from datetime import date

import pytest
from PIL import Image

from agent.documents.text import extract_text
from agent.examples import Example, examples, find
from agent.examples.generated import DEPARTURES, REGISTER_PAGES, logbook, register
from agent.experiments.experiment import ExpectedAnswer
from agent.grading.checks import CHECKS
from agent.models.builtin.install import find_files
from agent.models.builtin.worker import CONTEXT_TOKENS

COMPARED = [each for each in examples() if each.expected]


def example(title: str) -> Example:
    return next(each for each in COMPARED if each.title == title)


def expected(title: str) -> str:
    return str(example(title).expected["answer"])


def read_input(title: str) -> bytes:
    with example(title).input_files() as (path,):
        return path.read_bytes()


@pytest.mark.parametrize("compared", COMPARED, ids=lambda each: each.title)
def test_the_expected_answer_is_a_valid_one(compared: Example) -> None:
    assert ExpectedAnswer(**compared.expected).kind in CHECKS
    assert find(compared.task) is compared


def test_half_a_dozen_are_for_the_built_in_model_and_five_for_others() -> None:
    assert [each.builtin for each in COMPARED] == [True] * 6 + [False] * 5


def test_the_sum_of_the_column() -> None:
    rows = csv.DictReader(io.StringIO(read_input("Add up a column").decode()))
    assert sum(int(row["visitors"]) for row in rows) == int(expected("Add up a column"))


def test_the_number_of_words() -> None:
    text = read_input("Count words").decode()
    assert len(re.findall(r"\S+", text)) == int(expected("Count words"))
    assert all(any(map(str.isalpha, word)) for word in text.split())


def test_the_line_of_the_logbook() -> None:
    number = int(re.findall(r"line (\d+)", example("Read a long logbook").task)[0])
    lines = read_input("Read a long logbook").decode().splitlines()
    assert lines[number - 1] == expected("Read a long logbook")
    assert lines.count(expected("Read a long logbook")) == 1


@pytest.mark.contract
@pytest.mark.builtin
def test_the_logbook_is_longer_than_the_context() -> None:
    files = find_files()
    if files is None:
        pytest.skip("the built-in model is not installed (requirements-builtin.txt)")
    from agent.models.builtin.process import get_engine
    from agent.models.builtin.sampler import LlamaSampler

    assert len(LlamaSampler(get_engine(files)).encode(logbook().decode())) > 2 * CONTEXT_TOKENS


def test_the_days_between_the_dates() -> None:
    days = date(1969, 7, 20) - date(1912, 4, 15)
    assert days.days == int(expected("Compute a date"))


def test_the_number_in_the_letter() -> None:
    assert read_input("Look into a letter").decode().count(expected("Look into a letter")) == 1


def test_the_primes_with_a_prime_digit_sum() -> None:
    size = 611_954
    sieve = bytearray([0, 0]) + bytearray([1]) * (size - 2)
    for number in range(2, int(size**0.5) + 1):
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(range(number * number, size, number)))
    primes = [number for number in range(size) if sieve[number]]
    assert len(primes) == 50_000
    found = sum(sieve[sum(map(int, str(prime)))] for prime in primes)
    assert found == int(expected("Sum digits of primes"))


@pytest.mark.contract
def test_the_tonnes_in_the_register_as_read_from_the_pdf() -> None:
    document = extract_text(io.BytesIO(read_input("Search 300 pages")), "register.pdf")
    assert document.pages == REGISTER_PAGES
    assert document.tokens > 131_072
    tonnes = re.findall(r"Halcyon from \w+, (\d+) tonnes", document.text)
    assert sum(map(int, tonnes)) == int(expected("Search 300 pages"))
    assert document.text.count("Halcyon") == len(tonnes)


def test_the_platform_on_the_photograph() -> None:
    (platform,) = [each for _, city, each in DEPARTURES if city == "Bergen"]
    assert platform == expected("Read a photograph")
    with Image.open(io.BytesIO(read_input("Read a photograph"))) as photo:
        assert (photo.format, photo.size) == ("JPEG", (1100, 760))
        red, _, blue = (each.tobytes() for each in photo.split())
        lit = sum(one > 180 and other < 110 for one, other in zip(red, blue, strict=True))
        assert lit > 2_000, "the letters of the board are there"


def test_the_broken_lines() -> None:
    _, text = example("Break lines by rule").task.split("\n")
    lines = textwrap.wrap(text, 24, break_on_hyphens=False)
    assert expected("Break lines by rule") == " / ".join(lines)


@pytest.mark.contract
def test_generated_documents_are_the_same_in_every_process() -> None:
    program = (
        "import hashlib; from agent.examples.generated import logbook, register; "
        "print(hashlib.sha256(logbook() + register()).hexdigest())"
    )
    hashes = {
        subprocess.check_output([sys.executable, "-c", program], env={"PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    }
    assert len(hashes) == 1
    assert len(register()) < 300_000
