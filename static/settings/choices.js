// Choices in Gradio's fields by keyboard: radio buttons of a field are one group, and Tab leads past an open list.

let groups = 0;

/** Mend the choices below an element, also those that are drawn later. */
export function mendChoices(element) {
  const mend = () => {
    // A list that scrolls is a stop of Tab, and closes as it gets the focus, which is lost then.
    for (const list of element.querySelectorAll(".options, [role=listbox]")) list.tabIndex = -1;
    // Gradio makes single buttons: a group is one stop of Tab, with arrows within.
    for (const field of element.querySelectorAll("fieldset:has(input[type=radio])")) {
      field.dataset.choices ??= `choices-${++groups}`;
      field.setAttribute("aria-label", field.querySelector("[data-testid=block-info]")?.firstChild.textContent.trim() ?? "");
      for (const radio of field.querySelectorAll("input[type=radio]")) if (radio.name !== field.dataset.choices) radio.name = field.dataset.choices;
    }
  };
  // Gradio renames the buttons with each choice.
  new MutationObserver(mend).observe(element, { subtree: true, childList: true, attributeFilter: ["name"] });
  mend();
}
