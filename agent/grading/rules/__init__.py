"""IFBench's rules (https://github.com/allenai/IFBench), in a loose reading.

They are as strict or lax as the published checker, even where that departs from a rule's wording,
because published figures depend on it; but abbreviations, after which no sentence ends, and verbs
are lists instead of NLTK's models. Loose means: the answer follows a rule as it is, or without
asterisks, without its first line, without its last line, or without both.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent.errors import TaskError
from agent.grading import reference
from agent.grading.checks import Extraction, Grade
from agent.grading.rules import counts, layout, requests, wording
from agent.util.text import quote

MAX_NUMBER = 100_000  # of a rule's numbers
MAX_ARGUMENT_CHARS = 100_000  # of a rule's texts
_Rule = Callable[..., bool]

_RULES: dict[str, _Rule] = {
    "count:conjunctions": counts.conjunctions,
    "count:keywords_multiple": counts.keywords_multiple,
    "count:numbers": counts.numbers,
    "count:person_names": counts.person_names,
    "count:pronouns": counts.pronouns,
    "count:punctuation": counts.punctuation,
    "count:unique_word_count": counts.unique_word_count,
    "count:word_count_range": counts.word_count_range,
    "count:words_japanese": counts.words_japanese,
    "custom:character_reverse": requests.character_reverse,
    "custom:csv_city": requests.csv_city,
    "custom:csv_quotes": requests.csv_quotes,
    "custom:csv_special_character": requests.csv_special_character,
    "custom:date_format_list": requests.date_format_list,
    "custom:european_capitals_sort": requests.european_capitals_sort,
    "custom:mcq_count_length": requests.mcq_count_length,
    "custom:multiples": requests.multiples,
    "custom:reverse_newline": requests.reverse_newline,
    "custom:sentence_alphabet": wording.sentence_alphabet,
    "custom:word_reverse": requests.word_reverse,
    "format:emoji": layout.emoji,
    "format:line_indent": layout.line_indent,
    "format:list": layout.list_with,
    "format:newline": layout.newline,
    "format:no_bullets_bullets": layout.no_bullets_bullets,
    "format:no_whitespace": layout.no_whitespace,
    "format:options": layout.options,
    "format:output_template": layout.output_template,
    "format:parentheses": layout.parentheses,
    "format:quote_unquote": layout.quote_unquote,
    "format:quotes": layout.quotes,
    "format:sub-bullets": layout.sub_bullets,
    "format:thesis": layout.thesis,
    "format:title_case": wording.title_case,
    "ratio:overlap": counts.overlap,
    "ratio:sentence_balance": counts.sentence_balance,
    "ratio:sentence_type": counts.sentence_type,
    "ratio:sentence_words": wording.sentence_words,
    "ratio:stop_words": counts.stop_words,
    "repeat:repeat_change": requests.repeat_change,
    "repeat:repeat_simple": requests.repeat_simple,
    "repeat:repeat_span": requests.repeat_span,
    "sentence:alliteration_increment": wording.alliteration_increment,
    "sentence:increment": wording.sentence_increment,
    "sentence:keyword": wording.sentence_keyword,
    "words:alphabet": wording.alphabet,
    "words:consonants": wording.consonants,
    "words:keywords_specific_position": wording.keywords_specific_position,
    "words:last_first": wording.last_first,
    "words:no_consecutive": wording.no_consecutive,
    "words:odd_even_syllables": wording.odd_even_syllables,
    "words:palindrome": wording.palindrome,
    "words:paragraph_last_first": wording.paragraph_last_first,
    "words:prime_lengths": wording.prime_lengths,
    "words:repeats": wording.repeats,
    "words:start_verb": wording.start_verb,
    "words:vowel": wording.vowel,
    "words:words_position": wording.words_position,
}

NAMES = tuple(sorted(_RULES))  # the names of all rules


def check_rule(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Check a rule of a data set; return its arguments, numbers as the rule needs them."""
    if name not in NAMES:
        raise TaskError(f"there is no rule {quote(name)}; the rules are {', '.join(NAMES)}.")
    _text, *parameters = inspect.signature(_RULES[name]).parameters.values()
    wanted = {each.name: each.annotation for each in parameters}
    for key in arguments.keys() - wanted.keys():
        raise TaskError(f"{name} has no argument {quote(key)}.")
    for key in wanted.keys() - arguments.keys():
        raise TaskError(f"{name} needs the argument {key}.")
    return {key: _argument(f"{name}: {key}", arguments[key], kind) for key, kind in wanted.items()}


def check_rules(
    rules: Sequence[Mapping[str, Any]], answer: str, extraction: Extraction = "lenient"
) -> Grade:
    """Grade an answer: 1 if it follows all rules, loosely; one part per rule."""
    parts: dict[str, float] = {}
    for number, rule in enumerate(rules, start=1):
        name = rule["rule"]
        followed = is_followed(name, rule["arguments"], answer, extraction)
        parts[name if name not in parts else f"{name} ({number})"] = float(followed)
    return Grade(score=float(all(parts.values())), parts=parts)


def is_followed(
    name: str, arguments: Mapping[str, Any], answer: str, extraction: Extraction = "lenient"
) -> bool:
    """Return whether an answer follows a rule, loosely."""
    rule, read = _RULES[name], reference.readings if extraction == "reference" else _readings
    return any(rule(text, **arguments) for text in read(answer) if text.strip())


def _readings(answer: str) -> list[str]:
    lines = answer.split("\n")
    cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    texts = [answer, *cut]
    return list(dict.fromkeys([*texts, *(text.replace("*", "") for text in texts)]))


def _argument(name: str, value: object, kind: type) -> Any:
    if kind is str:
        if not isinstance(value, str) or not value or len(value) > MAX_ARGUMENT_CHARS:
            raise TaskError(f"{name} must be a text of 1 to {MAX_ARGUMENT_CHARS:,} characters.")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TaskError(f"{name} must be a number, not {type(value).__name__}.")
    if not 0 <= value <= MAX_NUMBER or (kind is int and value != int(value)):
        raise TaskError(f"{name} must be a number from 0 to {MAX_NUMBER:,}, not {value}.")
    return kind(value)
