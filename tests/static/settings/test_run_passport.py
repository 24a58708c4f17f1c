"""What is known of a run's model is in the run's head."""

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from agent.models.passport.passport import Fact, Passport
from tests.support.component.events import bash, ended, started, step
from tests.support.component.stage import Look, Stage, looks

pytestmark = pytest.mark.component

PASSPORT = Passport(
    base_url="https://models.test/v1", model="m", tested=1_700_000_000.0,
    facts={
        "api": Fact("Chat Completions", "chosen automatically"),
        "context": Fact(32_768, "/props, n_ctx"),
        "images": Fact(None, "the server says <b>nothing</b> about it"),
    },
)  # fmt: skip


@pytest.mark.parametrize("look", looks(roles=("owner", "guest")), ids=str)
def test_a_chip_opens_what_was_known_and_how_it_was_found_out(stage: Stage, look: Look) -> None:
    begin = replace(started("Count."), passport=PASSPORT.provenance())
    stage.run.add(begin, *step(1, bash("ls", "a.txt")), ended(answer="1"))
    stage.mount("header", "timeline", run=[], look=look)
    chip = stage.page.locator(".origin .chip", has_text="model")
    expect(chip).to_have_text("model Chat Completions · 32,768 tokens")
    chip.click()
    dialog = stage.page.get_by_role("dialog", name="Known of the model")
    expect(dialog.locator(".passport dl > div", has_text="Context length")).to_contain_text(
        "32,768 tokens/props, n_ctx"
    )
    images = dialog.locator(".passport .unknown", has_text="Images")
    expect(images).to_contain_text("not knownthe server says <b>nothing</b> about it")


def test_a_run_without_a_passport_has_no_chip(stage: Stage) -> None:
    stage.run.add(started("Count."), *step(1, bash("ls", "a.txt")), ended(answer="1"))
    stage.mount("header", "timeline", run=[])
    expect(stage.timeline.locator(".step")).to_have_count(1)
    expect(stage.page.locator(".origin .chip")).to_have_count(0)
