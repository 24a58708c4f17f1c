// A recorded comparison: the same model without and with a sandbox, side by side, typed as it happened.

import { h } from "../core/dom.js";
import { formatCount, formatSeconds, plural, shortened } from "../core/format.js";
import { prefersCalm } from "./gallery.js";

const TYPING_MS = 1800; // ms in which a whole side is typed
const MAX_COMMAND = 220; // characters
const MAX_ANSWER = 200;
const MAX_PROMPT = 130;

/** The two sides of a recording; `play()` types them, `element` is all of it. */
export class Versus {
  constructor(example, { plain, sandbox }) {
    this.element = h("span", { class: "versus-sides" }, side("Without sandbox", example, plain), side("In the sandbox", example, sandbox));
    this.texts = [...this.element.querySelectorAll(".typed")].map((element) => new TypedText(element));
    this.frame = 0;
  }

  /** Type both sides from their start; the layout does not move. */
  play() {
    if (prefersCalm()) return;
    cancelAnimationFrame(this.frame);
    const sides = Map.groupBy(this.texts, ({ element }) => element.closest(".versus-side"));
    const started = performance.now();
    const draw = (now) => {
      const share = Math.min(1, (now - started) / TYPING_MS);
      for (const texts of sides.values()) typeTogether(texts, share);
      if (share < 1 && this.element.isConnected) this.frame = requestAnimationFrame(draw);
      else for (const text of this.texts) text.show(Infinity);
    };
    this.frame = requestAnimationFrame(draw);
  }
}

/** Show this share of texts that follow each other. */
function typeTogether(texts, share) {
  let left = share * texts.reduce((sum, { length }) => sum + length, 0);
  for (const text of texts) {
    text.show(left);
    left -= text.length;
  }
}

/** A text whose end can be invisible, but takes its space. */
class TypedText {
  constructor(element) {
    this.element = element;
    this.text = element.textContent;
    this.length = this.text.length;
    this.shown = h("span", {}, this.text);
    this.rest = h("span", { class: "untyped" });
    element.replaceChildren(this.shown, this.rest);
  }

  show(count) {
    const at = Math.max(0, Math.min(this.length, Math.round(count)));
    if (this.shown.textContent.length === at) return;
    this.shown.textContent = this.text.slice(0, at);
    this.rest.textContent = this.text.slice(at);
  }
}

function side(heading, example, run) {
  const right = run.right ?? null;
  const tone = right === null ? null : right ? "good" : "bad";
  const mark = { good: "right", bad: run.answer ? "wrong" : "no answer" }[tone];
  return h(
    "span",
    { class: "versus-side" },
    h("span", { class: "versus-head" }, h("b", {}, heading), h("small", {}, detail(example, run))),
    run.steps.length ? "" : h("code", { class: "output" }, `${shortened(run.prompt ?? "", MAX_PROMPT)}`),
    ...run.steps.flatMap(({ command, output }) => [
      h("code", { class: "typed" }, `$ ${shortened(command.trim(), MAX_COMMAND)}`),
      output.trim() ? h("code", { class: "typed output" }, shortened(output.trim(), MAX_ANSWER)) : "",
    ]),
    h(
      "span",
      { class: "versus-answer", "data-tone": tone, "data-long": String(run.answer.length > 24 || !run.answer) },
      h("span", { class: "typed", dir: "auto" }, shortened(run.answer || run.reason, MAX_ANSWER)),
      mark ? h("small", { class: "mark typed" }, mark) : "",
    ),
    h("small", { class: "num" }, figures(run)),
  );
}

function detail(example, run) {
  if (run.steps.length || run.model === "Built-in model") return "same weights, with the adapter for tools";
  const documents = example.inputs.length ? `${example.inputs.join(", ")} in the prompt` : "the question alone";
  return `built-in model, ${documents}`;
}

function figures({ tokens, promptTokens, seconds, steps }) {
  const read = promptTokens ? `${formatCount(promptTokens)} tokens read, ${formatCount(tokens)} written` : "nothing read: refused";
  return [read, steps.length ? plural(steps.length, "command") : "", formatSeconds(seconds)].filter(Boolean).join(" · ");
}
