// Radio buttons of a field are one group, which Gradio makes of single ones: one stop of Tab, arrows within.

let groups = 0;

/** Keep the radio buttons below an element grouped, also those that are drawn later. */
export function groupChoices(element) {
  const group = () => {
    for (const field of element.querySelectorAll("fieldset:has(input[type=radio])")) {
      field.dataset.choices ??= `choices-${++groups}`;
      field.setAttribute("aria-label", field.querySelector("[data-testid=block-info]")?.firstChild.textContent.trim() ?? "");
      for (const radio of field.querySelectorAll("input[type=radio]")) if (radio.name !== field.dataset.choices) radio.name = field.dataset.choices;
    }
  };
  // Gradio renames the buttons with each choice.
  new MutationObserver(group).observe(element, { subtree: true, childList: true, attributeFilter: ["name"] });
  group();
}
