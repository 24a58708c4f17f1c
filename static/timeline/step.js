// One step of a run: reasoning, text, tool calls and changed files.

import { Card } from "./tool_card.js";
import { Changes } from "./step_files.js";
import { GrowingText, h } from "../core/dom.js";
import { firstLine, plural, seconds, unmarked } from "../core/format.js";
import { LiveMarkdown } from "./live_markdown.js";
import { render } from "../core/markdown.js";
import { usageOf } from "./totals.js";
import { link } from "../core/file_links.js";
import { ask, emit, runApi, session } from "../core/session.js";

const SHORT = 2000; // characters; longer text is removed when the step is unloaded

/** Whether all steps are expanded, including future ones. */
export const folding = { open: false };

export class Step {
  constructor(number_) {
    this.number = number_;
    this.held = "all"; // or only the "head", or "coming": requested
    this.ended = false;
    this.near = true;
    this.body = h("div", { class: "step-body" });
    const link = h("a", {
      class: "no num", href: `?run=${session.run}#step-${number_}`, "aria-label": `Link to step ${number_}`, title: "Link to this step",
    }, String(number_));
    this.element = h("article", { class: "step", id: `step-${number_}`, "aria-label": `Step ${number_}` }, link, this.body);
    this.files = new Changes(this);
    this.clear();
  }

  /** A step with its head only; `load` fetches the rest. */
  static of(head) {
    const step = new Step(head.step);
    step.held = "head";
    step.ended = true;
    if (head.thought) step.thought(head.thought, head.began);
    step.endThought();
    if (head.text) step.say(head.text);
    step.said?.text.close();
    for (const call of head.calls) step.place(Card.of(call));
    step.files.know(head.changes, head.changed);
    step.usage = head.usage;
    step.estimated = head.estimated;
    step.modelSeconds = head.model_seconds;
    step.sandboxSeconds = head.calls.reduce((sum, call) => sum + call.seconds, 0);
    step.settle();
    return step;
  }

  clear() {
    this.body.replaceChildren();
    this.files.clear();
    Object.assign(this, {
      cards: [], written: new Map(), byId: new Map(), thinking: null, said: null, tickLine: null,
      lastText: "", usage: undefined, modelSeconds: 0, sandboxSeconds: 0,
    });
  }

  /** Whether only the head is loaded. */
  get partial() {
    return this.held !== "all";
  }

  /** Load the whole step when it comes near the viewport. */
  load() {
    if (this.held === "head") {
      this.held = "coming";
      this.arrival = this.fetch();
    }
    return this.arrival;
  }

  async fetch() {
    let events = null;
    try {
      events = await ask(runApi(`steps/${this.number}`));
    } catch {
      // the head stays; loading is retried when it comes near again
    }
    if (this.held === "coming") events ? this.fill(events) : (this.held = "head");
  }

  fill(events) {
    const touched = new Map(this.cards.filter((card) => card.touched).map((card) => [card.id, card.element.open]));
    const reading = this.thinking?.element.open;
    this.body.remove(); // avoid layout while building
    this.clear();
    this.held = "all";
    for (const event of events) this.apply(event);
    this.cutOff();
    this.settle();
    this.rest();
    this.element.append(this.body);
    for (const card of this.cards) if (touched.has(card.id)) card.unfold(touched.get(card.id));
    if (this.thinking && reading) this.thinking.element.open = true;
    for (const card of this.cards) if (card.element.open) card.followOut?.();
    this.element.style.minHeight = "";
  }

  /** Unload all but the head of a step far from the viewport; keep its height. */
  unload(height) {
    if (this.held === "coming") this.held = "head";
    if (this.partial || !this.ended) return;
    this.held = "head";
    if (height) this.element.style.minHeight = `${height}px`; // 0 for an element without layout
    for (const card of this.cards) card.shed();
    this.thinking?.text.clear();
    if (this.said && this.lastText.length > SHORT) {
      this.said.element.textContent = this.lastText.slice(0, SHORT);
      this.said.element.classList.remove("markdown", "columns");
    }
  }

  /** Mark the step as ended. */
  end() {
    this.ended = true;
    this.cutOff();
    if (!this.partial && !this.tickLine) this.settle(); // it was interrupted
    if (!this.near) this.unload(this.element.offsetHeight);
  }

  cutOff() {
    for (const card of this.cards) card.cutOff();
  }

  unfold(open) {
    for (const card of this.cards) card.unfold(open);
    if (this.thinking) this.thinking.element.open = open;
  }

  apply(event) {
    switch (event.kind) {
      case "reasoning_delta": return this.thought(event.text, event.at);
      case "text_delta": return this.say(event.text);
      case "call_delta": return this.writeCall(event);
      case "model_answered": return this.answered(event);
      case "tool_started": return this.cardFor(event).start(event);
      case "tool_output": return this.byId.get(event.call_id)?.output(event);
      case "tool_ended": return this.endCall(event);
      case "workspace_changed": return this.change(event);
      case "retrying": return this.retry(event);
      case "notice": return this.remark(event.text);
      case "reminder": return this.told(event.text);
      case "observations_cleared": return this.remark(`${plural(event.call_ids.length, "older output")} removed from the conversation to free up space.`);
      case "unreadable": return this.remark(event.text, "warn");
      case "step_ended": return this.finish();
      default: return undefined;
    }
  }

  thought(text, at) {
    if (!this.thinking) {
      const summary = h("summary", {}, "Thinking");
      const body = h("div", { class: "thought-text" });
      const element = h("details", { class: "thought", open: true }, summary, body);
      this.thinking = { summary, element, text: new GrowingText(body), began: at, first: "", live: true };
      this.put(element);
    }
    this.thinking.last = at;
    if (this.thinking.first.length < 200) this.thinking.first += text;
    this.thinking.text.add(text);
  }

  endThought() {
    const thinking = this.thinking;
    if (!thinking?.live) return;
    thinking.live = false;
    thinking.element.open = folding.open;
    const took = thinking.last - thinking.began;
    const time = took > 0.05 ? ` for ${seconds(took)}` : "";
    thinking.summary.textContent = `Thought${time} · ${firstLine(unmarked(thinking.first))}`;
  }

  say(text) {
    this.endThought();
    if (!this.said) {
      const element = h("div", { class: "say" });
      this.said = { element, text: new LiveMarkdown(element) };
      this.put(element);
    }
    this.said.text.add(text);
    this.lastText += text;
  }

  writeCall(event) {
    this.endThought();
    let card = this.written.get(event.index);
    if (!card) {
      card = new Card(event.name);
      this.written.set(event.index, card);
      this.place(card);
    }
    card.write(event.arguments);
  }

  answered(event) {
    this.endThought();
    this.usage = event.usage;
    this.estimated = event.estimated;
    this.modelSeconds = event.seconds;
    const written = [...this.written.entries()].sort(([a], [b]) => a - b).map(([, card]) => card);
    event.calls.forEach((call, position) => {
      const card = written[position] ?? this.place(new Card(call.name));
      card.id = call.id;
      card.raw = call.arguments;
      this.byId.set(call.id, card);
    });
    this.lastText = event.text;
    this.said?.text.close();
    this.rendered = this.said ? render(this.said.element, event.text) : null;
  }

  cardFor(event) {
    let card = this.byId.get(event.call_id);
    if (!card) this.byId.set(event.call_id, (card = this.place(new Card(event.name))));
    return card;
  }

  endCall(event) {
    this.cardFor(event).end(event);
    this.sandboxSeconds += event.seconds;
  }

  change(event) {
    this.files.know(event.changes, event.total);
    if (this.tickLine) this.settle();
  }

  retry(event) {
    for (const card of this.written.values()) card.element.remove();
    this.cards = this.cards.filter((card) => ![...this.written.values()].includes(card));
    this.written.clear();
    this.thinking?.element.remove();
    this.said?.text.close();
    this.said?.element.remove();
    this.thinking = this.said = null;
    this.remark(`${event.reason.replace(/([^.!?…])$/, "$1.")} Attempt ${event.attempt} starts in ${seconds(event.wait)}.`, "warn");
  }

  remark(text, kind = "") {
    this.put(h("p", { class: `remark ${kind}` }, text));
  }

  told(text) {
    this.put(h("details", { class: "told" }, h("summary", {}, `Reminder to the model: ${firstLine(text)}`), h("div", {}, text)));
  }

  place(card) {
    this.cards.push(card);
    if (card.id) this.byId.set(card.id, card);
    this.put(card.element);
    return card;
  }

  put(element) {
    if (this.tickLine) this.tickLine.before(element);
    else this.body.append(element);
  }

  tick() {
    for (const card of this.cards) card.tick();
    const thinking = this.thinking;
    if (thinking?.live) thinking.summary.textContent = `Thinking · ${seconds(session.now() - thinking.began)}`;
  }

  /** The step is complete: link the files it names. */
  async finish() {
    this.settle();
    const { said } = this;
    await this.rendered;
    if (this.partial || said !== this.said) return;
    for (const card of this.cards) card.link();
    if (said) link(said.element, () => emit("linked", this.element));
  }

  /** Show the line of usage and changes of the step. */
  settle() {
    this.endThought();
    this.said?.text.flush();
    const line = h("div", { class: "tick num" }, ...this.files.chips());
    const used = [...usageOf(this)];
    if (this.modelSeconds >= 0.05) used.push(`model ${seconds(this.modelSeconds)}`);
    if (this.sandboxSeconds >= 0.05) used.push(`sandbox ${seconds(this.sandboxSeconds)}`);
    line.append(h("span", {}, used.join(" · ")));
    this.tickLine?.remove();
    this.tickLine = null;
    this.body.append(line);
    this.tickLine = line;
  }

  /** Whether this is the model's text in the step; for a head only its start is known. */
  saidLast(text) {
    return this.lastText === text || (this.partial && this.lastText.length >= 200 && text.startsWith(this.lastText));
  }

  rest() {
    if (folding.open) return;
    for (const card of this.cards) card.rest();
  }
}
