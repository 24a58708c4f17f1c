// Example tasks. Without a model, recorded demonstrations are played.

import { fetchExamples } from "../core/examples.js";
import { builtinAvailable } from "../core/instance.js";
import { h, icon, iconButton } from "../core/dom.js";
import { plural } from "../core/format.js";
import { hasEndpoint } from "../core/preferences.js";
import { apiUrl, showRun, emit, on, currentRun } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";

/** Send an example's task without changing the text box; start a new run if one is shown. `play` plays its demonstration, whatever model is connected. */
export function runExample({ task }, { play = false } = {}) {
  if (currentRun.started) showRun(null);
  emit("send", { text: task, play });
}

/** Return the files of an example. */
export function exampleFiles(example) {
  const count = example.inputs.length;
  return count ? [icon("file"), plural(count, "file")] : [];
}

/** Describe the files or requirements of an example. */
export function exampleNeeds(example) {
  if (hasEndpoint()) return exampleFiles(example);
  if (example.saved) return [icon("play"), `yours, about ${example.seconds} s`];
  if (example.builtin) return ["built-in model"];
  return example.seconds ? [icon("play"), `about ${example.seconds} s`] : ["needs a model"];
}

/** Describe a demonstration; with a connected model, return its task. */
export const exampleDescription = (example) => (hasEndpoint() && example.demonstration ? example.task : example.description);

export function mountExamples(element) {
  const dialog = element.querySelector("dialog.examples");
  const button = element.querySelector(".offer");
  const list = h("div", { class: "list", role: "group", "aria-labelledby": "examples-title" });
  const note = h("p", { class: "about", role: "status" });
  dialog.append(
    h(
      "div",
      { class: "drawer-head" },
      h("h2", { id: "examples-title" }, "Examples"),
      iconButton("close", "Close examples", () => dialog.close(), { class: "quiet" }),
    ),
    note,
    list,
  );
  button.prepend(icon("bulb"));
  button.addEventListener("click", () => emit("examples"));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("keydown", (event) => moveFocus(event, list));
  for (const name of ["update", "reset"]) on(name, () => (button.disabled = currentRun.running));
  on("examples", async () => {
    try {
      const all = await fetchExamples();
      note.textContent = hasEndpoint()
        ? "Run an example with your model, or play its demonstration: scripted model turns with real commands in a real sandbox."
        : `Demonstrations play scripted model turns with real commands in a real sandbox.${builtinAvailable ? " The built-in model handles small tasks." : ""} Connect a model to run the others.`;
      list.replaceChildren(...all.map((example) => exampleRow(example, dialog, note)));
      dialog.showModal();
      list.querySelector("button")?.focus();
    } catch (error) {
      emit("notice", { text: error.message });
    }
  });
}

function exampleRow(example, dialog, note) {
  const choose = (options) => {
    dialog.close();
    runExample(example, options);
  };
  const content = [h("b", {}, example.title), h("span", {}, exampleDescription(example)), h("small", { class: "num" }, ...exampleNeeds(example))];
  if (example.saved) return savedRow(example, content, choose, note);
  if (!isPlayable(example)) return h("button", { class: "example", onclick: () => choose() }, ...content);
  return h("div", { class: "example" }, ...content, exampleButtons(example, choose));
}

/** The row of one of the user's own examples, which can be deleted. */
function savedRow(example, content, choose, note) {
  const row = h("div", { class: "example" }, ...content);
  const actions = isPlayable(example)
    ? exampleButtons(example, choose)
    : h(
        "div",
        { class: "actions" },
        action("Play", example, () => choose({ play: true })),
      );
  const remove = action("Delete…", example, () => {
    actions.hidden = true;
    row.append(confirmation);
    confirm.focus();
  });
  const keep = () => {
    confirmation.remove();
    actions.hidden = false;
    remove.focus();
  };
  const confirm = h("button", { class: "plain danger", onclick: () => deleteExample(example, row, note).then((deleted) => deleted || keep()) }, "Delete");
  const cancel = h("button", { class: "plain", onclick: keep }, "Cancel");
  const question = h("p", {}, "Delete this example? The run that it was made from stays.");
  const confirmation = h("div", { class: "confirmation", role: "group", "aria-label": `Delete “${example.title}”` }, question, confirm, cancel);
  actions.append(remove);
  row.append(actions);
  return row;
}

const action = (label, { title }, onclick) => h("button", { class: "quiet", "aria-label": `${label}: ${title}`, onclick }, label);

/** Delete a saved example and its row; return whether it was deleted. */
async function deleteExample(example, row, note) {
  try {
    await fetchJson(apiUrl(`examples/saved/${encodeURIComponent(example.saved)}`), { method: "DELETE" });
  } catch (error) {
    note.textContent = error.message;
    return false;
  }
  emit("examples-changed");
  const next = (row.nextElementSibling ?? row.previousElementSibling)?.closest("button, .example");
  row.remove();
  (next?.matches("button") ? next : next?.querySelector("button"))?.focus();
  note.textContent = `Deleted “${example.title}”.`;
  return true;
}

/** Whether an example can be both played and run by the connected model. */
export const isPlayable = (example) => hasEndpoint() && Boolean(example.demonstration || example.saved);

/** Buttons for both ways to try an example; `choose` receives the options of `runExample`. */
export function exampleButtons(example, choose) {
  const button = (label, options) => action(label, example, () => choose(options));
  return h("div", { class: "actions" }, button("Play demonstration", { play: true }), button("Try with my model", {}));
}

function moveFocus(event, list) {
  const rows = [...list.querySelectorAll("button")];
  const at = rows.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  rows[Math.max(0, Math.min(to, rows.length - 1))]?.focus();
}
