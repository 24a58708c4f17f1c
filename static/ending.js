// How a round ended: its answer or its reason; what it made is put below by `results.js`.

import { copy, h } from "./dom.js";
import { render } from "./markdown.js";
import { sequel, tone } from "./states.js";

const TITLES = {
  submitted: "Answer", answered: "Answer", stopped: "Stopped", failed: "Failed",
  step_limit: "Step limit reached", token_limit: "Token limit reached",
  budget_limit: "Budget reached", time_limit: "Time limit reached",
};

/** The end of a round; `onAnswer` is told of the answer's element once it is what it stays. */
export function ending(status, reason, answer, onAnswer = () => {}) {
  const kind = tone({ alive: false, state: status });
  const box = h("section", { class: "ending", "data-tone": kind, "aria-label": TITLES[status] }, h("h2", {}, TITLES[status]));
  if (reason) box.append(h("p", { class: "reason" }, reason));
  const next = sequel(status);
  if (next) box.append(h("p", { class: "next" }, next));
  if (answer) box.append(...said(answer, onAnswer));
  box.append(h("div", { class: "outputs" }));
  return box;
}

function said(answer, onAnswer) {
  const text = h("div", { class: "answer" }, answer);
  render(text, answer).then(() => onAnswer(text));
  const tool = h("button", { type: "button", class: "quiet copy", onclick: (e) => copy(answer, e.target) }, "copy answer");
  return [text, tool];
}
