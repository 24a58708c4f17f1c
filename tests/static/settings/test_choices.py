"""Choices in Gradio's fields by keyboard: one stop of Tab, whatever Gradio draws."""

import pytest
from playwright.sync_api import expect

from tests.support.component.stage import Stage

pytestmark = pytest.mark.component

FIELDS = """() => {
  document.querySelector('#fields')?.remove();
  const radio = (label) => `<label><input type="radio" name="one-${label}">${label}</label>`;
  document.body.insertAdjacentHTML('beforeend', `<div id="fields">
    <fieldset><span data-testid="block-info">Calls</span>
    ${['All', 'Some', 'None'].map(radio).join('')}</fieldset>
    <button>After</button></div>`);
  document.querySelector('#fields input').checked = true;
}"""
"""A field as Gradio draws it: each of its radio buttons is a group of its own."""
LIST = """() => document.querySelector('#fields button').insertAdjacentHTML('beforebegin', `
  <input role="combobox" aria-label="Model">
  <div class="options" style="height: 40px; overflow: auto">
  <ul role="listbox" style="height: 400px"><li role="option">one</li></ul></div>`)"""


@pytest.fixture(autouse=True)
def _fields(stage: Stage) -> None:
    stage.mount("header")
    stage.page.evaluate(FIELDS)
    mend = "({ mendChoices }) => mendChoices(document.querySelector('#fields'))"
    stage.evaluate("settings/choices.js", mend)


def test_radio_buttons_are_one_stop_and_arrows_choose_within(stage: Stage) -> None:
    group = stage.page.get_by_role("group", name="Calls")
    group.get_by_role("radio", name="All").focus()
    stage.page.keyboard.press("ArrowDown")
    some = group.get_by_role("radio", name="Some")
    expect(some).to_be_focused()
    expect(some).to_be_checked()
    expect(group.get_by_role("radio", name="All")).not_to_be_checked()
    stage.page.keyboard.press("Tab")
    expect(stage.button("After")).to_be_focused()


def test_buttons_that_are_renamed_or_drawn_later_stay_grouped(stage: Stage) -> None:
    field = stage.page.locator("fieldset")
    field.evaluate("e => e.querySelectorAll('input').forEach((each, at) => (each.name = `${at}`))")
    field.evaluate("e => e.insertAdjacentHTML('beforeend', '<input type=radio aria-label=New>')")
    names = "e => new Set([...e.querySelectorAll('input')].map(({name}) => name)).size"
    stage.wait_until(lambda: bool(field.evaluate(names) == 1))
    field.get_by_role("radio", name="All").focus()
    for _ in range(3):
        stage.page.keyboard.press("ArrowDown")
    expect(field.get_by_role("radio", name="New")).to_be_checked()


def test_tab_leads_past_an_open_list(stage: Stage) -> None:
    stage.page.evaluate(LIST)
    stage.page.get_by_role("combobox", name="Model").focus()
    stage.page.keyboard.press("Tab")
    expect(stage.button("After")).to_be_focused()


def test_forced_colours_show_what_is_chosen(stage: Stage) -> None:
    fields = stage.page.locator("#fields")
    fields.evaluate("e => document.querySelector('.gradio-container').append(e)")
    radio = fields.get_by_role("radio", name="All")
    radio.evaluate("e => e.style.appearance = 'none'")  # as Gradio, whose circle is a background
    stage.page.emulate_media(forced_colors="active")
    try:
        assert radio.evaluate("e => getComputedStyle(e).appearance") == "auto"
    finally:
        stage.page.emulate_media(forced_colors="none")
