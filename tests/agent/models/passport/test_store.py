"""Passports are kept per endpoint and model, by several processes, without keys."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from agent.models.endpoint.learned import Learned, Lessons
from agent.models.passport.passport import Fact, Passport, as_text, from_json
from agent.models.passport.store import PassportStore

URL = "https://models.test/v1"


def dropping(*names: str) -> Learned:
    return Learned(lessons={"chat": Lessons(dropped=names)})


PASSPORT = Passport(
    base_url=URL, model="m", tested=5.0, learned=json.loads(json.dumps(dropping("seed").to_json())),
    facts={"context": Fact(32_768, "/props, n_ctx"), "images": Fact(None, "it says nothing")},
)  # fmt: skip


def test_a_passport_is_found_again_by_endpoint_and_model(tmp_path: Path) -> None:
    PassportStore(tmp_path).put(PASSPORT)
    store = PassportStore(tmp_path)
    assert store.find(f"{URL}/?token=secret", "m") == PASSPORT
    assert store.find(URL, "other") is None
    assert store.find("https://other.test/v1", "m") is None
    assert store.find("no url", "m") is None


def found_in(folder: Path, model: str = "m") -> Passport:
    found = PassportStore(folder).find(URL, model)
    assert found is not None
    return found


def test_what_a_run_learns_is_added_and_the_rest_stays(tmp_path: Path) -> None:
    store = PassportStore(tmp_path)
    store.put(PASSPORT)
    store.learn(URL, "m", dropping("top_p"))
    assert Learned.from_json(found_in(tmp_path).learned) == dropping("seed", "top_p")
    assert found_in(tmp_path).context_tokens == 32_768
    store.learn(URL, "untested", dropping("seed"))
    untested = found_in(tmp_path, "untested")
    assert (Learned.from_json(untested.learned), untested.facts) == (dropping("seed"), {})


def test_writers_at_the_same_time_lose_nothing_of_each_other(tmp_path: Path) -> None:
    def learn(name: str) -> None:
        for number in range(5):
            PassportStore(tmp_path).learn(URL, "m", dropping(f"{name}{number}"))

    PassportStore(tmp_path).put(PASSPORT)
    with ThreadPoolExecutor(4) as writers:
        list(writers.map(learn, "abcd"))
    found = found_in(tmp_path)
    assert found.context_tokens == 32_768
    names = {f"{name}{number}" for name in "abcd" for number in range(5)}
    assert set(Learned.from_json(found.learned).of("chat").dropped) == {"seed", *names}
    assert not list((tmp_path / "passports").glob("tmp*"))


@pytest.mark.parametrize("content", ["", "{", "[]", '{"model": 1}', "[" * 100_000, "\xff"])
def test_a_damaged_file_is_no_passport(tmp_path: Path, content: str) -> None:
    store = PassportStore(tmp_path)
    store.put(PASSPORT)
    [file] = (tmp_path / "passports").glob("*.json")
    file.write_bytes(content.encode("latin-1"))
    assert store.find(URL, "m") is None
    store.put(PASSPORT)
    assert store.find(URL, "m") == PASSPORT


def test_fields_of_a_wrong_type_are_left_out() -> None:
    value = PASSPORT.to_json() | {"tested": "now", "learned": 3, "prompt_tokens": -1}
    value["facts"] = {"context": ["x", 1], "images": 4, "unknown": [1, ""], "seed": [[], ""]}
    found = from_json(json.loads(json.dumps(value)))
    assert (found.tested, found.learned, found.prompt_tokens) == (0.0, {}, 0)
    assert found.facts == {"context": Fact("x", "")}
    assert found.context_tokens is None


def test_a_passport_is_found_by_a_name_of_any_length(tmp_path: Path) -> None:
    """A path as the name of a local model may be longer than any text that people read."""
    long = replace(PASSPORT, model="/models/" + "m" * 1000, base_url=f"{URL}/{'p' * 400}")
    PassportStore(tmp_path).put(long)
    assert PassportStore(tmp_path).find(long.base_url, long.model) == long


def test_a_test_in_the_meantime_is_not_replaced_by_a_renewal(tmp_path: Path) -> None:
    store = PassportStore(tmp_path)
    store.renew(replace(PASSPORT, changed=6.0))
    assert store.find(URL, "m") is None
    store.put(replace(PASSPORT, tested=7.0))
    store.renew(replace(PASSPORT, changed=6.0))
    store.learn(URL, "m", dropping("top_p"))
    store.renew(replace(PASSPORT, tested=7.0, changed=8.0))
    found = found_in(tmp_path)
    assert (found.tested, found.changed, found.is_fresh) == (7.0, 8.0, False)
    assert Learned.from_json(found.learned) == dropping("seed", "top_p")


def test_people_read_what_is_known_and_how_it_was_found_out() -> None:
    text = as_text(PASSPORT)
    assert "Context length:           32,768 tokens (/props, n_ctx)" in text
    assert "Images:                   not known (it says nothing)" in text


def test_a_run_records_the_facts_without_the_address() -> None:
    recorded = PASSPORT.provenance()
    context = next(each for each in recorded["facts"] if each["name"] == "context")
    assert (context["text"], context["source"]) == ("32,768 tokens", "/props, n_ctx")
    assert URL not in json.dumps(recorded)
