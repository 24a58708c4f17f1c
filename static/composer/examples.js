// Example tasks. Without a model, recorded demonstrations are played.

import { builtin } from "../core/builtin_model.js";
import { h, icon } from "../core/dom.js";
import { plural } from "../core/format.js";
import { connected } from "../core/preferences.js";
import { api, ask, attach, emit, on, session } from "../core/session.js";

let known = null;

/** Return the examples for the connected model, or those playable without one first; fetched once. */
export async function examples() {
  known ??= ask(api("examples")).catch((error) => {
    known = null;
    throw error;
  });
  return (await known).filter((each) => !each.builtin || (builtin && !connected()));
}

/**
 * Send an example's task without changing the text box; start a new run if one is shown.
 * `play` plays its demonstration, whatever model is connected.
 */
export function tryOut({ task }, { play = false } = {}) {
  if (session.begun) attach(null);
  emit("send", { text: task, play });
}

/** Return the files of an example. */
export function files(example) {
  const many = example.inputs.length;
  return many ? [icon("file"), plural(many, "file")] : [];
}

/** Describe the files or requirements of an example. */
export function needs(example) {
  if (connected()) return files(example);
  if (example.builtin) return ["built-in model"];
  return example.seconds ? [icon("play"), `about ${example.seconds} s`] : ["needs a model"];
}

/** Describe a demonstration; with a connected model, return its task. */
export const about = (example) => (connected() && example.demonstration ? example.task : example.about);

export function mountExamples(element) {
  const dialog = element.querySelector("dialog.examples");
  const offer = element.querySelector(".offer");
  const list = h("div", { class: "list", role: "group", "aria-labelledby": "examples-title" });
  const note = h("p", { class: "about" });
  dialog.append(
    h("div", { class: "drawer-head" }, h("h2", { id: "examples-title" }, "Examples"),
      h("button", { type: "button", class: "quiet", "aria-label": "Close examples", onclick: () => dialog.close() }, icon("close"))),
    note, list);
  offer.prepend(icon("bulb"));
  offer.addEventListener("click", () => emit("examples"));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("keydown", (event) => walk(event, list));
  for (const name of ["head", "reset"]) on(name, () => (offer.disabled = session.alive));
  on("examples", async () => {
    try {
      const all = await examples();
      note.textContent = connected()
        ? "Run an example with your model, or play its demonstration: scripted model turns with real commands in a real sandbox."
        : `Demonstrations play scripted model turns with real commands in a real sandbox.${builtin ? " The built-in model handles small tasks." : ""} Connect a model to run the others.`;
      list.replaceChildren(...all.map((example) => row(example, dialog)));
      dialog.showModal();
      list.querySelector("button")?.focus();
    } catch (error) {
      emit("notice", { text: error.message });
    }
  });
}

function row(example, dialog) {
  const choose = (how) => {
    dialog.close();
    tryOut(example, how);
  };
  const words = [h("b", {}, example.title), h("span", {}, about(example)), h("small", { class: "num" }, ...needs(example))];
  if (!hasBoth(example)) return h("button", { type: "button", class: "example", onclick: () => choose() }, ...words);
  return h("div", { class: "example" }, ...words, bothWays(example, choose));
}

/** Whether an example can be both played and run by the connected model. */
export const hasBoth = (example) => connected() && Boolean(example.demonstration);

/** Buttons for both ways to try an example; `choose` receives the options of `tryOut`. */
export function bothWays(example, choose) {
  const way = (label, how) => h("button", { type: "button", class: "quiet", "aria-label": `${label}: ${example.title}`, onclick: () => choose(how) }, label);
  return h("div", { class: "ways" }, way("Play demonstration", { play: true }), way("Try with my model", {}));
}

function walk(event, list) {
  const rows = [...list.querySelectorAll("button")];
  const at = rows.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  rows[Math.max(0, Math.min(to, rows.length - 1))]?.focus();
}
