// Tasks to begin with. Without a model those that are demonstrations play.

import { builtin } from "./builtin.js";
import { h, icon } from "./dom.js";
import { plural } from "./format.js";
import { connected } from "./memory.js";
import { api, ask, attach, emit, on, session } from "./session.js";

let known = null;

/** The examples that suit who answers, those that play without a model first; asked for once. */
export async function examples() {
  known ??= ask(api("examples")).catch((error) => {
    known = null;
    throw error;
  });
  return (await known).filter((each) => !each.builtin || (builtin && !connected()));
}

/** Run a task as if it had been written; a run that has begun is left for a new one. */
export function tryOut(task) {
  if (session.begun) attach(null);
  const box = document.querySelector("#task textarea");
  box.value = task;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  setTimeout(() => document.querySelector("#run").click());
}

/** The files that come with an example. */
export function files(example) {
  const many = example.inputs.length;
  return many ? [icon("file"), plural(many, "file")] : [];
}

/** What comes with an example, or what it takes. */
export function needs(example) {
  if (connected()) return files(example);
  if (example.builtin) return ["built-in model"];
  return example.seconds ? [icon("play"), `about ${example.seconds} s`] : ["needs a model"];
}

/** What a demonstration shows; where a model does it, what it is asked. */
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
        ? "Each goes to your model, with its files and its prompt."
        : `Demonstrations are scripted turns with real commands in a real sandbox.${builtin ? " The built-in model does small tasks." : ""} For the others connect a model.`;
      list.replaceChildren(...all.map((example) => row(example, dialog)));
      dialog.showModal();
      list.firstChild?.focus();
    } catch (error) {
      emit("notice", { text: error.message });
    }
  });
}

function row(example, dialog) {
  const choose = () => {
    dialog.close();
    tryOut(example.task);
  };
  return h("button", { type: "button", class: "example", onclick: choose },
    h("b", {}, example.title), h("span", {}, about(example)), h("small", { class: "num" }, ...needs(example)));
}

function walk(event, list) {
  const rows = [...list.children];
  const at = rows.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  rows[Math.max(0, Math.min(to, rows.length - 1))]?.focus();
}
