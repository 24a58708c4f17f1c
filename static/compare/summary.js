// What is compared and what came of it: the task with its files, and the verdict, which stays in view.

import { h, icon } from "../core/dom.js";
import { decodePath, formatBytes, plural } from "../core/format.js";

const STATES = { running: "Running.", stopped: "Stopped.", interrupted: "Interrupted.", finished: "Finished." };

export class Summary {
  constructor() {
    this.text = h("p", { class: "task-text", dir: "auto" });
    this.files = h("div", { class: "task-files" });
    this.task = h("section", { class: "compared-task", "aria-label": "Task" }, this.text, this.files);
    this.sentence = h("strong", {}, "Loading…");
    this.detail = h("small", { class: "num" });
    this.note = h("small", { class: "note" });
    this.verdict = h("div", { class: "verdict", role: "group", "aria-label": "Verdict" }, this.sentence, this.detail, this.note);
    this.drawn = "";
  }

  show(comparison) {
    const { task, inputs, verdict, expected, note, reason, state } = comparison;
    const key = JSON.stringify([task, inputs, verdict, expected, note, reason, state, comparison.members.length]);
    if (key === this.drawn) return;
    this.drawn = key;
    this.text.textContent = task;
    this.files.replaceChildren(...inputs.map(fileChip));
    this.files.hidden = !inputs.length;
    this.sentence.textContent = verdict?.text || pendingText(comparison);
    this.detail.textContent = verdict?.detail || expectedText(expected);
    const notes = [STATES[state] && state !== "finished" && state !== "running" ? STATES[state] : "", reason, note].filter(Boolean);
    this.note.textContent = notes.join(" ");
    this.note.hidden = !notes.length;
    this.note.dataset.tone = ["stopped", "interrupted"].includes(state) ? "warn" : "";
  }
}

/** What is said before there is a verdict. */
function pendingText({ state, members, repetitions }) {
  const what = `${plural(members.length, "member")}, ${plural(repetitions, "run")} each`;
  if (state === "running") return `Comparing ${what}…`;
  return state === "finished" ? `Compared: ${what}.` : `${STATES[state] ?? ""} ${what}.`.trim();
}

function expectedText(expected) {
  if (!expected) return "";
  const tolerance = expected.kind === "number" && expected.tolerance ? ` ± ${expected.tolerance}` : "";
  const relative = expected.kind === "number" && expected.relative ? ` ± ${100 * expected.relative} %` : "";
  const judge = expected.judge ? `, ${expected.judge.model}` : "";
  return `expected answer “${shorten(expected.answer)}${tolerance}${relative}”, ${expected.check}${judge}`;
}

const shorten = (text) => (text.length > 120 ? `${text.slice(0, 119)}…` : text);

function fileChip({ path, size, sha256 }) {
  const name = decodePath(path).replace(/^input\//, "");
  return h(
    "span",
    { class: "chip", title: `${name}\nSHA-256 ${sha256}` },
    icon("file"),
    h("b", { dir: "auto" }, name),
    h("span", { class: "num" }, formatBytes(size)),
  );
}
