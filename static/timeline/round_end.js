// The end of a round: answer or reason; `results.js` adds the results below.

import { copy, h } from "../core/dom.js";
import { render } from "../core/markdown.js";
import { sequel, tone } from "../core/run_states.js";

const TITLES = {
  submitted: "Answer", answered: "Answer", stopped: "Stopped", failed: "Failed",
  step_limit: "Step limit reached", token_limit: "Token limit reached",
  budget_limit: "Budget reached", time_limit: "Time limit reached",
};

/**
 * The end of a round; `onAnswer` receives the answer's element once it is final. After a
 * failure, `onRetry` and `onSettings` are offered.
 */
export function ending(status, reason, answer, { onAnswer, onRetry, onSettings }) {
  const kind = tone({ alive: false, state: status });
  const box = h("section", { class: "ending", "data-tone": kind, "aria-label": TITLES[status] }, h("h2", {}, TITLES[status]));
  if (reason) box.append(h("p", { class: "reason" }, reason));
  const next = sequel(status);
  if (next) box.append(h("p", { class: "next" }, next));
  if (status === "failed") box.append(deeds(onRetry, onSettings));
  if (answer) box.append(...said(answer, onAnswer));
  box.append(h("div", { class: "outputs" }));
  return box;
}

function deeds(onRetry, onSettings) {
  const button = (label, onclick) => h("button", { type: "button", class: "plain", onclick }, label);
  return h("div", { class: "deeds own-only" }, button("Retry", onRetry), button("Open settings", onSettings));
}

function said(answer, onAnswer) {
  const text = h("div", { class: "answer" }, answer);
  render(text, answer).then(() => onAnswer(text));
  const tool = h("button", { type: "button", class: "quiet copy", onclick: (e) => copy(answer, e.target) }, "Copy answer");
  return [text, tool];
}
