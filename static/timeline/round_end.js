// The end of a round: answer or reason; `results.js` adds the results below.

import { copyText, h } from "../core/dom.js";
import { joinWrappedLines } from "../core/text/flowing.js";
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

const SHORT = 80; // characters of an answer that is set large

/**
 * The end of a round: the answer, below it the model's last `message`, if that is another text, a
 * promise. `onText` receives the element of either once it is final. After a failure, `onRetry` and
 * `onSettings` are offered, if given.
 */
export function createRoundEnd(status, reason, answer, { onText, message = null, onRetry = undefined, onSettings = undefined }) {
  const kind = stateTone({ running: false, state: status });
  const box = h("section", { class: "round-end", tabindex: "-1", "data-tone": kind, "aria-label": TITLES[status] }, h("h2", {}, TITLES[status]));
  if (reason) box.append(h("p", { class: "reason" }, reason));
  const hint = nextStepHint(status);
  if (hint) box.append(h("p", { class: "next" }, hint));
  if (status === "failed" && onRetry) box.append(failureActions(onRetry, onSettings));
  if (answer) box.append(...answerSection(answer, onText));
  if (message) box.append(finalMessage(message, onText));
  box.append(h("div", { class: "outputs" }));
  return box;
}

function failureActions(onRetry, onSettings) {
  const button = (label, onclick) => h("button", { class: "plain", onclick }, label);
  return h("div", { class: "failure-actions owner-only" }, button("Retry", onRetry), button("Open settings", onSettings));
}

function answerSection(answer, onText) {
  const isShort = answer.length <= SHORT && !answer.trim().includes("\n");
  const text = h("div", { class: "answer", "data-short": isShort, dir: "auto" }, answer);
  renderMarkdown(text, joinWrappedLines(answer)).then(() => onText(text));
  const copyButton = h("button", { class: "quiet copy", onclick: (e) => copyText(answer, e.target) }, "Copy answer");
  return [text, copyButton];
}

/** What the model said at the end, which explains an answer that it wrote into a file. */
function finalMessage(message, onText) {
  const text = h("div", { class: "message" });
  const element = h("section", { class: "final-message", "aria-label": "Final message" }, h("h3", {}, "Final message"), text);
  message.then(async (content) => {
    text.textContent = content;
    await renderMarkdown(text, joinWrappedLines(content));
    onText(text);
  });
  return element;
}
