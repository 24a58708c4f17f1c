// The end of a round: answer or reason; `results.js` adds the results below.

import { copyText, h } from "../core/dom.js";
import { renderMarkdown } from "../core/text/markdown.js";
import { nextStepHint, stateTone } from "../core/run/run_states.js";

const TITLES = {
  submitted: "Answer",
  answered: "Answer",
  stopped: "Stopped",
  failed: "Failed",
  step_limit: "Step limit reached",
  token_limit: "Token limit reached",
  budget_limit: "Budget reached",
  time_limit: "Time limit reached",
};

/**
 * The end of a round; `onAnswer` receives the answer's element once it is final. After a
 * failure, `onRetry` and `onSettings` are offered, if given.
 */
export function createRoundEnd(status, reason, answer, { onAnswer, onRetry = undefined, onSettings = undefined }) {
  const kind = stateTone({ running: false, state: status });
  const box = h("section", { class: "round-end", "data-tone": kind, "aria-label": TITLES[status] }, h("h2", {}, TITLES[status]));
  if (reason) box.append(h("p", { class: "reason" }, reason));
  const hint = nextStepHint(status);
  if (hint) box.append(h("p", { class: "next" }, hint));
  if (status === "failed" && onRetry) box.append(failureActions(onRetry, onSettings));
  if (answer) box.append(...answerSection(answer, onAnswer));
  box.append(h("div", { class: "outputs" }));
  return box;
}

function failureActions(onRetry, onSettings) {
  const button = (label, onclick) => h("button", { class: "plain", onclick }, label);
  return h("div", { class: "failure-actions owner-only" }, button("Retry", onRetry), button("Open settings", onSettings));
}

function answerSection(answer, onAnswer) {
  const text = h("div", { class: "answer" }, answer);
  renderMarkdown(text, answer).then(() => onAnswer(text));
  const copyButton = h("button", { class: "quiet copy", onclick: (e) => copyText(answer, e.target) }, "Copy answer");
  return [text, copyButton];
}
