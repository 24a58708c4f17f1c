// Questions to a model about an evaluation's runs: their progress, what was answered, and the button that asks.

import { h, hasChanged } from "../../core/dom.js";
import { formatNumber, plural } from "../../core/format.js";
import { source } from "../../core/loading/source.js";
import { isKnown } from "../words.js";

export class Questions {
  /**
   * `filter()` is the text of the filter of the runs that are shown; `onValue(key, value)` shows the runs with an answer;
   * `onAsk()` opens the dialog, and `onStop(id)` and `onResume(id)` stop and continue a question.
   */
  constructor({ onAsk, onStop, onResume, onValue }) {
    this.options = { onStop, onResume, onValue };
    this.ask = h("button", { class: "plain ask-model owner-only", onclick: onAsk, hidden: true }, "Ask a model about these runs…");
    this.list = h("ul", { class: "question-list" });
    this.element = h("section", { class: "questions", "aria-label": "Questions about the runs" }, this.list, this.ask);
  }

  show({ questions = [], scanning = {}, canEdit, elsewhere = "", counts }) {
    this.ask.hidden = !canEdit || Boolean(elsewhere || source.bundled) || !counts.done;
    this.element.hidden = this.ask.hidden && !questions.length;
    if (!hasChanged(this, [questions, scanning, canEdit])) return;
    const focused = this.list.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement).dataset.key : null;
    this.list.replaceChildren(...questions.map((question) => this.row(question, scanning[question.id] ?? {}, canEdit && !source.bundled)));
    if (focused) /** @type {HTMLElement | null} */ (this.list.querySelector(`[data-key="${CSS.escape(focused)}"]`))?.focus();
  }

  row(question, { running = false, problem = "" }, canEdit) {
    const { id, text, model, runs, answered, counts, errors, unverified, promptTokens, generatedTokens, cost } = question;
    const { onStop, onResume, onValue } = this.options;
    const value = (name, count) =>
      h(
        "button",
        {
          class: "outcome-chip",
          "data-key": `${id} ${name}`,
          title: "Show the runs with this answer",
          onclick: () => onValue(`scan:${id}`, name),
          dir: "auto",
        },
        `${name} `,
        h("b", { class: "num" }, formatNumber(count)),
      );
    const values = Object.entries(counts).sort(([, one], [, other]) => other - one);
    const chips = values.map(([name, count]) =>
      name === "quote" && question.kind === "quote" ? h("span", { class: "dim" }, plural(count, "quote")) : value(name, count),
    );
    const tokens = isKnown(promptTokens) ? `${formatNumber(promptTokens + generatedTokens)} tokens` : "";
    const facts = [
      `${formatNumber(answered)} of ${plural(runs, "run")}`,
      unverified ? `${formatNumber(unverified)} unverified` : "",
      tokens,
      isKnown(cost) ? `cost ${cost.toFixed(4)}` : "",
      model,
    ];
    const action = running
      ? h("button", { class: "quiet", "data-key": `${id}-action`, onclick: () => onStop(id), "aria-label": `Stop asking: ${text}` }, "Stop")
      : h("button", { class: "quiet", "data-key": `${id}-action`, onclick: () => onResume(id), "aria-label": `Go on asking: ${text}` }, "Go on");
    return h(
      "li",
      { "data-live": running },
      h("p", { class: "question-text", dir: "auto" }, text),
      h("p", { class: "dim num" }, facts.filter(Boolean).join(" · ")),
      running ? h("progress", { value: answered, max: runs, "aria-label": `Answers: ${answered} of ${runs}` }) : null,
      h("div", { class: "outcome-filter" }, ...chips, errors ? value("error", errors) : null, canEdit && answered < runs ? action : null),
      problem ? h("p", { class: "question-problem", role: "alert" }, problem) : null,
    );
  }
}
