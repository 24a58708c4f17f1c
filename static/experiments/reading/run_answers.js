// What models answered to questions about a run, in its column: a click opens the run as of the cited step.

import { h, hasChanged, plainClick } from "../../core/dom.js";
import { fetchJson } from "../../core/loading/fetch.js";
import { source } from "../../core/loading/source.js";
import { openRun } from "../../core/view.js";
import { runUrl } from "../../core/run/run_summary.js";

export class RunAnswers {
  /** `url(path)` is an address of the experiment. */
  constructor(url) {
    this.url = url;
    this.run = null;
    this.element = h("dl", { class: "run-answers", "aria-label": "Answers about this run", hidden: true });
  }

  /** Show the answers about a run; null for none. */
  show(run, { questions = [] }) {
    this.questions = new Map(questions.map((question) => [question.id, question]));
    this.run = run?.run ?? null;
    if (!hasChanged(this, [this.run, run?.scans])) return;
    this.element.hidden = true;
    if (run && !source.bundled && Object.keys(run.scans ?? {}).length) this.load(run.run);
  }

  async load(run) {
    try {
      const { answers } = await fetchJson(`${this.url("answers")}?${new URLSearchParams({ runs: run })}`);
      if (run === this.run) this.draw(run, answers[run] ?? []);
    } catch (error) {
      if (run !== this.run) return;
      this.element.hidden = false;
      this.element.replaceChildren(h("dd", { class: "dim" }, error.message));
    }
  }

  draw(run, answers) {
    const known = answers.filter(({ question }) => this.questions.has(question));
    this.element.hidden = !known.length;
    this.element.replaceChildren(...known.flatMap((answer) => [h("dt", { dir: "auto" }, this.questions.get(answer.question).text), answerOf(run, answer)]));
  }
}

function answerOf(run, { answer, step, quote, reason, citation, error }) {
  if (error) return h("dd", { class: "dim" }, `No answer: ${error}`);
  const open = plainClick(() => openRun(run, step));
  const link = step ? h("a", { href: `${runUrl(run)}#step-${step}`, onclick: open, title: "Open the run as of this step" }, `step ${step}`) : null;
  const shownQuote = quote && quote !== answer ? h("q", { dir: "auto" }, quote) : null;
  const mark = citation === "none" ? null : h("span", { class: "citation", "data-citation": citation }, citation === "verified" ? "✓ quoted" : "unverified");
  return h("dd", { dir: "auto" }, h("b", {}, answer), " ", link, " ", mark, " ", shownQuote, reason ? h("span", { class: "dim" }, ` ${reason}`) : null);
}
