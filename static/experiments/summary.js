// What an experiment is and what came of it: a comparison's task and verdict, an evaluation's progress.

import { h, hasChanged, icon } from "../core/dom.js";
import { decodePath, formatBytes, formatNumber, formatSeconds, plural, shortened } from "../core/format.js";
import { isKnown } from "./words.js";

/** What is said of a whole that does not go on. */
const SENTENCES = { stopped: "Stopped.", interrupted: "Interrupted." };

/** The task of a comparison with its files, and the verdict, which stays in view. */
export class Summary {
  /** `scroller` is the element that scrolls. */
  constructor(scroller) {
    this.text = h("p", { class: "task-text", dir: "auto" });
    this.files = h("div", { class: "task-files" });
    this.task = h("section", { class: "compared-task", "aria-label": "Task" }, this.text, this.files);
    this.sentence = h("strong", {});
    this.detail = h("small", { class: "num" });
    this.note = h("small", { class: "note", id: "elsewhere" });
    this.verdict = h("div", { class: "verdict", role: "group", "aria-label": "Verdict" }, this.sentence, this.detail, this.note);
    this.size = new ResizeObserver(() => scroller.style.setProperty("--verdict", `${this.verdict.offsetHeight}px`));
    this.size.observe(this.verdict);
    this.seen = new IntersectionObserver(([{ isIntersecting }]) => this.verdict.classList.toggle("stuck", !isIntersecting), { root: scroller });
    this.seen.observe(this.task);
  }

  show(comparison) {
    const { title, task, inputs, verdict, expected, note, reason, state, elsewhere } = comparison;
    if (!hasChanged(this, [title, task, inputs, verdict, expected, note, reason, state, elsewhere])) return;
    this.text.textContent = task;
    this.task.dataset.titled = titledBy(title, task);
    this.files.replaceChildren(...inputs.map(fileChip));
    this.files.hidden = !inputs.length;
    this.sentence.textContent = verdict?.text || pendingText(comparison);
    this.detail.textContent = verdict?.detail || expectedText(expected);
    const notes = [SENTENCES[state], reason, elsewhere, note].filter(Boolean);
    this.note.textContent = notes.join(" ");
    this.note.hidden = !notes.length;
    this.note.dataset.tone = state in SENTENCES ? "warn" : "";
  }

  close() {
    this.size.disconnect();
    this.seen.disconnect();
  }
}

/** How much of a task its title says: all of it, its start, or nothing. */
function titledBy(title, task) {
  if (title === task.trim()) return "whole";
  return task.trim().startsWith(title) ? "start" : "";
}

/** What is said before there is a verdict. */
function pendingText({ state, members, repetitions }) {
  const what = `${plural(members.length, "member")}, ${plural(repetitions, "run")} each`;
  if (state === "running") return `Comparing ${what}…`;
  return state === "finished" ? `Compared: ${what}.` : `${SENTENCES[state]} ${what}.`;
}

function expectedText(expected) {
  if (!expected) return "";
  const tolerance = expected.kind === "number" && expected.tolerance ? ` ± ${expected.tolerance}` : "";
  const relative = expected.kind === "number" && expected.relative ? ` ± ${100 * expected.relative} %` : "";
  const judge = expected.judge ? `, ${expected.judge.model}` : "";
  return `expected answer “${shortened(expected.answer, 120)}${tolerance}${relative}”, ${expected.check}${judge}`;
}

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

/** The progress of an evaluation, who carries it out, and its suites. */
export class Progress {
  constructor() {
    this.bar = h("progress", { "aria-label": "Runs done" });
    this.text = h("p", { class: "progress-text num" });
    this.elsewhere = h("p", { class: "elsewhere-line", id: "elsewhere" });
    this.suites = h("p", { class: "suites-line dim" });
    this.element = h("section", { class: "progress-place", "aria-label": "Progress" }, this.bar, this.text, this.elsewhere, this.suites);
  }

  show({ counts, remaining, state, reason, testing = [], suites, members, repetitions, elsewhere }) {
    this.bar.max = counts.total;
    this.bar.value = counts.done;
    this.bar.hidden = state === "finished";
    const working = testing.length ? `testing ${testing.join(", ")}` : counts.running ? `${formatNumber(counts.running)} running` : "";
    const left = isKnown(remaining) ? `about ${formatSeconds(remaining)} left` : "remaining time not known yet";
    const facts = [`${formatNumber(counts.done)} of ${plural(counts.total, "run")} done`, working, state === "running" ? left : SENTENCES[state], reason];
    this.text.textContent = facts.filter(Boolean).join(" · ");
    this.elsewhere.hidden = !elsewhere;
    this.elsewhere.textContent = elsewhere;
    const alike = suites.every((each) => (each.repetitions ?? repetitions) === repetitions);
    const times = (count) => (alike ? "" : count === 1 ? " once" : `, ${formatNumber(count)} times each`);
    const suite = ({ title, sample, tasks, licence, extraction, repetitions: count }) =>
      `${title}: ${plural(tasks, "task")}${times(count)}${sample ? " of this project, not the authors’" : `, ${licence}`}${extraction === "reference" ? ", answers read as by the paper’s reward" : ""}`;
    this.suites.textContent = `${suites.map(suite).join(" · ")} · ${plural(members.length, "member")}${alike ? `, ${plural(repetitions, "repetition")}` : ""}`;
  }
}
