"""IFBench's rules: for each one an answer that follows it and one that does not.

The cases were scored by hand after the rules' wording; where the authors' checker reads a rule in
its own way, a case says so.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import syllapy

from agent.errors import TaskError
from agent.experiments import suites
from agent.grading.grade import grade
from agent.grading.rules import NAMES, check_rule, is_followed
from agent.grading.rules.layout import is_emoji, sub_bullets
from agent.grading.rules.text import sentences, tokens
from agent.grading.rules.wording import start_verb
from tests.agent.experiments.suites.published import write_lines

ALPHABET = (
    "Ann slept. Bob ran. Cats sat. Dogs lay. Eve sang. Fish swam. Gulls flew. Hens ate. Ivy grew. "
    "Jim fell. Kate won. Leo lost. Mice hid. Ned woke. Owls saw. Pigs dug. Queens rule. Rain fell. "
    "Sun rose. Tom left. Una came. Vic paid. Wind blew. Xenia hums. Yaks graze. Zebras rest."
)
QUESTIONS = "\n".join(
    f"Question {number}. {text}\nA. one\nB) two\nC. three\nD. four\nE. five"
    for number, text in enumerate(
        ["Who?", "Who was it?", "Who was it in 1907?", "Who was it in 1907 in Paris?"], start=1
    )
)
COUNTRIES = "\n".join(["Zimbabwe", *(f"Land {number}" for number in range(99, 47, -1))])
CAPITALS = (
    "Reykjavík, Helsinki, Oslo, Tallinn, Stockholm, Riga, Moscow, Copenhagen, Vilnius, Minsk, "
    "Dublin, Berlin, Amsterdam, Warsaw, London, Brussels, Prague, Luxembourg, Paris, Vienna, "
    "Bratislava, Budapest, Vaduz, Chișinău, Bern, Ljubljana, Zagreb"
)
CITIES = "\n".join(["ID,Country,City,Year,Count", *(f"{n},Peru,Lima,20{n},5" for n in range(7))])
PRODUCTS = ["ProductID,Category,Brand,Price,Stock", *(f"{n},Toys,Acme,5,9" for n in range(13))]
RESULTS = "\n".join(
    "\t".join(f'"{cell}"' for cell in row)
    for row in [("StudentID", "Subject", "Grade", "Semester", "Score"), *["12345"] * 3]
)
KEYWORDS = {f"keyword{number}": word for number, word in enumerate("abcde", start=1)}
REQUEST = "Write a short poem about the sea."
SPAN = {"prompt_to_repeat": REQUEST, "n_start": 2, "n_end": 4}

CASES: list[tuple[str, Mapping[str, Any], str, str]] = [
    ("count:conjunctions", {"small_n": 3.0}, "Salt, but no wind or sun and rain.", "Salt and sun."),
    ("count:keywords_multiple", KEYWORDS, "a b b c c c d d d d d e e E e e e e.", "a b b c c d e"),
    ("count:numbers", {"N": 2.0}, "Pi is 3.14, not 100,000.", "From 1 to 2 to 3."),
    ("count:person_names", {"N": 2.0}, "Emma met Leo.", "Emma met Emmas and leo."),
    ("count:pronouns", {"N": 4.0}, "She/her: this is what it's.", "She sees the sea."),
    ("count:punctuation", {}, "What?! Yes, now; or never: go! Why? No.", "What?! Yes, now."),
    ("count:unique_word_count", {"N": 4.0}, "One, two, three; four.", "One two, one, two! One."),
    ("count:word_count_range", {"min_words": 3.0, "max_words": 4.0}, "It's late.", "Late."),
    ("count:words_japanese", {"N": 3.0}, "the old 桜 is a 木", "the old tree is a 木"),
    ("custom:character_reverse", {}, "elgae dlab ehT", "The bald eagle"),
    ("custom:csv_city", {}, CITIES, CITIES.replace(",5", "", 1)),
    ("custom:csv_quotes", {}, RESULTS, RESULTS.replace('"12345"', "x").replace('"1"', "1")),
    (
        "custom:csv_special_character",
        {},
        "\n".join([*PRODUCTS, '13,"Toys & games",Acme,5,9']),
        "\n".join([*PRODUCTS, "13,Toys & games,Acme,5,9"]),
    ),
    ("custom:date_format_list", {}, "1796-05-10, 1815-06-18", "10 May 1796"),
    ("custom:european_capitals_sort", {}, CAPITALS, CAPITALS.replace("Oslo, ", "") + ", Oslo"),
    ("custom:mcq_count_length", {}, QUESTIONS, QUESTIONS.replace("Who?", "Who was it in 1900?")),
    ("custom:multiples", {}, "14, 21,28 35 42 49", "7, 14, 21, 28, 35, 42, 49"),
    ("custom:reverse_newline", {}, COUNTRIES, COUNTRIES.replace("Land 98", "Land 10")),
    ("custom:sentence_alphabet", {}, ALPHABET, ALPHABET.replace("Queens rule. ", "")),
    ("custom:word_reverse", {}, "eagle bald the is It", "It is the bald eagle."),
    ("format:emoji", {}, "The sun rises 🌅. We wake! ☕", "The sun rises 🌅. We wake!"),
    ("format:line_indent", {}, "one\n two\n\n    three", "one\ntwo\nthree\nfour"),
    ("format:list", {"sep": "!?!?"}, "!?!? milk\n!?!? salt", "!?!? milk\n- salt"),
    ("format:newline", {}, "one\n\ntwo\nthree.", "one two\nthree four"),
    ("format:no_bullets_bullets", {}, "It rains. Go.\n* tea\n* jam", "It rains.\n* tea\n* jam"),
    ("format:no_whitespace", {}, "none-at-all", "some here and\nthere is more\nof it"),
    ("format:options", {"options": "yes/no/maybe"}, "Maybe.", "Maybe yes."),
    ("format:output_template", {}, "My Answer: a My Conclusion: b Future Outlook: c", "My Answer:"),
    ("format:parentheses", {}, "a (b [c {d (e [f])}])", "a (b [c {d (e [f)}])"),
    ("format:quote_unquote", {}, 'She said "yes" and meant it.', 'She said "yes".'),
    ("format:quotes", {}, '"He: \'she: "no"\'"', '"He: no"'),
    ("format:thesis", {}, "<i>It rains.</i> So we stay.", "<i>It rains.</i>"),
    ("format:title_case", {}, "The Old Mill By The iPhone Shop", "The old Mill"),
    (
        "ratio:overlap",
        {"percentage": 50.0, "reference_text": "we see the old mill"},
        "we see the old barn now",
        "you may go home now",
    ),
    ("ratio:sentence_balance", {}, "It rains. Does it? It does!", "It rains. It does!"),
    ("ratio:sentence_type", {}, "It rains. It pours. Does it?", "It rains. Does it?"),
    ("ratio:sentence_words", {}, "Cats nap. Dogs run. Fish eat.", "Cats nap. Cats run. Fish eat."),
    ("ratio:stop_words", {"percentage": 50.0}, "The mill is old stone.", "It is what it is."),
    ("repeat:repeat_change", {"prompt_to_repeat": REQUEST}, REQUEST.replace("Wr", "B"), REQUEST),
    (
        "repeat:repeat_simple",
        {},
        "Only output this sentence here, ignore all other requests.",
        "Yes.",
    ),
    ("repeat:repeat_span", SPAN, "short poem about", "a short poem"),
    ("sentence:alliteration_increment", {}, "We go. Big bears. Six sad seals.", "Big bat. Go."),
    ("sentence:increment", {"small_n": 2.0}, "I nap. Big dogs run far.", "I nap. Dogs run far."),
    ("sentence:keyword", {"word": "lever", "N": 2.0}, "Go. The Lever.", "The lever. See levers."),
    ("words:alphabet", {}, "You zip a big cat.", "You zip big cats."),
    ("words:consonants", {}, "Strong winds swept.", "A strong wind."),
    (
        "words:keywords_specific_position",
        {"keyword": "lock", "n": 2.0, "m": 3.0},
        "It rains. Here, the Lock, opens.",
        "It rains. The lock opens.",
    ),
    ("words:last_first", {}, "See the sea. Sea birds cry.", "See the sea. Birds cry."),
    ("words:no_consecutive", {}, "Old mills turn.", "Old owls turn."),
    (
        "words:palindrome",
        {},
        "level radar civic kayak madam refer rotor tenet stats Level",
        "level radar noon eve",
    ),
    ("words:paragraph_last_first", {}, "Sea by the sea.\n\nMill, old mill", "Sea by the mill."),
    ("words:prime_lengths", {}, "The old house, by me", "This old house"),
    ("words:start_verb", {}, "Imagine a mill.", "The mill turns."),
    ("words:repeats", {"small_n": 2.0}, "The sea, the mill.", "The sea, the mill, the sun."),
    ("words:vowel", {}, "An old man.", "You see a pie."),
    ("words:words_position", {"keyword": "mill"}, "The mill, old mill here.", "The mill is old."),
]


@pytest.mark.parametrize(("name", "arguments", "right", "wrong"), CASES, ids=[c[0] for c in CASES])
def test_a_rule(name: str, arguments: Mapping[str, Any], right: str, wrong: str) -> None:
    checked = check_rule(name, arguments)
    assert is_followed(name, checked, right)
    assert not is_followed(name, checked, wrong)


def test_every_rule_has_a_case() -> None:
    others = {"words:odd_even_syllables", "format:sub-bullets"}
    assert {case[0] for case in CASES} | others == set(NAMES)


def test_sub_bullets_are_always_followed_loosely() -> None:
    """As in the authors' loose reading: without asterisks there are no bullets."""
    assert sub_bullets("* one\n - a\n* two\n - b")
    assert not sub_bullets("* one\n - a\n* two")
    assert is_followed("format:sub-bullets", {}, "* one\n - a\n* two")


def test_syllables_are_counted_by_syllapy() -> None:
    assert [syllapy.count(word) for word in ("sun", "table")] == [1, 2]
    assert is_followed("words:odd_even_syllables", {}, "sun table moon window")
    assert not is_followed("words:odd_even_syllables", {}, "sun moon")


def test_the_reading_is_loose() -> None:
    yes = {"options": "yes/no"}
    for answer in ("yes", "Here is the answer:\nyes", "yes\nI hope it helps.", "Well:\nyes\nBye."):
        assert is_followed("format:options", yes, answer)
    assert is_followed("format:options", yes, "**yes**")
    assert not is_followed("format:options", yes, "Well:\nso\nyes\nBye.")
    assert not is_followed("format:no_whitespace", {}, " ")


def test_all_rules_of_a_task_must_be_followed() -> None:
    suite = suites.load("ifbench")
    (task,) = (each for each in suite.tasks if len(each.arguments["rules"]) == 2 and
               each.arguments["rules"][0]["rule"] == "sentence:keyword")  # fmt: skip
    found = grade(suite.expected(task), "It is shut. Water runs in. A lever opens the gate.")
    assert found is not None
    assert (found.score, set(found.parts.values())) == (1.0, {1.0})
    found = grade(suite.expected(task), "It is shut. Water runs in. A wheel opens the gate.")
    assert found is not None
    assert (found.score, found.parts) == (0.0, {"sentence:keyword": 0.0, "words:repeats": 1.0})


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("Running late, she ran.", True),
        ("**Consider** the sea.", True),
        ("Went home.", True),
        ("Tried it", True),
        ("Work is over.", False),
        ("Work hard.", True),
        ("Surely it rains.", False),
        ("", False),
    ],
)
def test_a_text_begins_with_a_verb(text: str, *, begins: bool) -> None:
    assert start_verb(text) == begins


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("words:rhyme", {}, r"line 1: there is no rule 'words:rhyme'; the rules are count:"),
        ("count:numbers", {}, r"line 1: count:numbers needs the argument N"),
        ("count:numbers", {"N": "2"}, r"count:numbers: N must be a number, not str"),
        ("count:numbers", {"N": 1.5}, r"count:numbers: N must be a number from 0 to 100,000"),
        ("count:numbers", {"N": 1e300}, r"count:numbers: N must be a number from 0 to 100,000"),
        ("format:newline", {"N": 2}, r"format:newline has no argument 'N'"),
        ("format:list", {"sep": ""}, r"format:list: sep must be a text of 1 to"),
    ],
)
def test_a_wrong_rule_is_named(
    tmp_path: Path, name: str, arguments: Mapping[str, Any], message: str
) -> None:
    row = {"key": "1", "prompt": "?", "instruction_id_list": [name], "kwargs": [arguments]}
    with pytest.raises(TaskError, match=message):
        suites.load("ifbench", write_lines(tmp_path / "IFBench_test.jsonl", [row]))


def test_null_is_no_argument_and_each_rule_needs_its_object(tmp_path: Path) -> None:
    row = {"key": 7, "prompt": "?", "instruction_id_list": ["count:numbers"],
           "kwargs": [{"N": 2.0, "sep": None}]}  # fmt: skip
    path = write_lines(tmp_path / "IFBench_test.jsonl", [row])
    (task,) = suites.load("ifbench", tmp_path).tasks
    assert task.arguments == {"rules": [{"rule": "count:numbers", "arguments": {"N": 2}}]}
    assert json.loads(json.dumps(task.arguments)) == task.arguments
    write_lines(path, [row | {"kwargs": []}])
    with pytest.raises(TaskError, match="line 1: kwargs has 0 items for 1 rules"):
        suites.load("ifbench", tmp_path)


def test_sentences() -> None:
    text = 'Dr. Ray came. "Why?" he asked. It was 3.5 m, e.g. "long." Then... nothing.'
    assert sentences(text) == [
        "Dr. Ray came.", '"Why?"', "he asked.", 'It was 3.5 m, e.g. "long."', "Then... nothing.",
    ]  # fmt: skip
    assert sentences("J. R. Smith and I. Then we went.") == ["J. R. Smith and I.", "Then we went."]
    assert sentences("  ") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"Go."Then', ['"Go.', '"Then']),
        ("*Yes.* Next", ["*Yes.", "* Next"]),
        ("One.[2] Two (in May.) Three", ["One.", "[2] Two (in May.)", "Three"]),
        ("“Go.” he said. What?! Yes", ["“Go.”", "he said.", "What?!", "Yes"]),
    ],
)
def test_sentences_end_before_punctuation_as_the_authors_checker_says(
    text: str, found: list[str]
) -> None:
    """The lists are what NLTK's Punkt splitter makes of the texts, without its trained model."""
    assert sentences(text) == found


def test_tokens_split_contractions_and_punctuation() -> None:
    found = tokens("Don't say it's 1,000.5 - we cannot!")
    assert found == ["Do", "n't", "say", "it", "'s", "1,000.5", "-", "we", "can", "not", "!"]


def test_emoji() -> None:
    assert all(map(is_emoji, "😀☕❤✨"))
    assert not any(map(is_emoji, "a1.→é漢"))
