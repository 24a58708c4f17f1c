// One step of a run: what the model thought and said, its calls, what they changed.

import { Card } from "./card.js";
import { Changes } from "./changes.js";
import { GrowingText, h } from "./dom.js";
import { firstLine, number, plural, seconds } from "./format.js";
import { render } from "./markdown.js";
import { link } from "./paths.js";
import { ask, emit, runApi, session } from "./session.js";

const SHORT = 2000; // characters; a longer text leaves the page with its step

/** Whether all is unfolded, what is still to come too. */
export const folding = { open: false };

export class Step {
  constructor(number_) {
    this.number = number_;
    this.held = "all"; // or only the "head", or "coming": asked for
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

  /** A step of which only the head is known; `load` brings the rest. */
  static of(head) {
    const step = new Step(head.step);
    step.held = "head";
    step.ended = true;
    if (head.thought) step.thought(head.thought, head.began);
    step.endThought();
    if (head.text) step.say(head.text);
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

  /** Whether only its head is in the page. */
  get partial() {
    return this.held !== "all";
  }

  /** Bring the whole step, when it comes near the eye. */
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
      // its head stays; it is asked for again when it comes near again
    }
    if (this.held === "coming") events ? this.fill(events) : (this.held = "head");
  }

  fill(events) {
    const touched = new Map(this.cards.filter((card) => card.touched).map((card) => [card.id, card.element.open]));
    const reading = this.thinking?.element.open;
    this.body.remove(); // so that nothing is laid out while it is built
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

  /** Let go of all but the head, far from the eye; it stays as high as it is. */
  unload(height) {
    if (this.held === "coming") this.held = "head";
    if (this.partial || !this.ended) return;
    this.held = "head";
    if (height) this.element.style.minHeight = `${height}px`; // none is known of what is not laid out
    for (const card of this.cards) card.shed();
    this.thinking?.text.clear();
    if (this.said && this.lastText.length > SHORT) {
      this.said.element.textContent = this.lastText.slice(0, SHORT);
      this.said.element.classList.remove("markdown", "columns");
    }
  }

  /** Nothing more comes. */
  end() {
    this.ended = true;
    this.cutOff();
    if (!this.partial && !this.tickLine) this.settle(); // it was cut off
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
      case "told": return this.told(event.text);
      case "forgotten": return this.remark(`To make room, ${plural(event.call_ids.length, "older output")} became a note.`);
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
    thinking.summary.textContent = `Thought${time} · ${firstLine(thinking.first)}`;
  }

  say(text) {
    this.endThought();
    if (!this.said) {
      const element = h("div", { class: "say" });
      this.said = { element, text: new GrowingText(element) };
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
      this.byId.set(call.id, card);
    });
    this.lastText = event.text;
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
    this.said?.element.remove();
    this.thinking = this.said = null;
    this.remark(`${event.reason.replace(/([^.!?…])$/, "$1.")} Try ${event.attempt} follows in ${seconds(event.wait)}.`, "warn");
  }

  remark(text, kind = "") {
    this.put(h("p", { class: `remark ${kind}` }, text));
  }

  told(text) {
    this.put(h("details", { class: "told" }, h("summary", {}, `The model was reminded: ${firstLine(text)}`), h("div", {}, text)));
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

  /** All of it is there: what names a file becomes a link to it. */
  async finish() {
    this.settle();
    const { said } = this;
    await this.rendered;
    if (this.partial || said !== this.said) return;
    for (const card of this.cards) card.link();
    if (said) link(said.element, () => emit("linked", this.element));
  }

  /** The line of what the step used and changed. */
  settle() {
    this.endThought();
    const line = h("div", { class: "tick num" }, ...this.files.chips());
    const used = [...usage(this)];
    if (this.modelSeconds >= 0.05) used.push(`model ${seconds(this.modelSeconds)}`);
    if (this.sandboxSeconds >= 0.05) used.push(`sandbox ${seconds(this.sandboxSeconds)}`);
    line.append(h("span", {}, used.join(" · ")));
    this.tickLine?.remove();
    this.tickLine = null;
    this.body.append(line);
    this.tickLine = line;
  }

  /** Whether this is what the model said in the step; of a head only its beginning is known. */
  saidLast(text) {
    return this.lastText === text || (this.partial && this.lastText.length >= 200 && text.startsWith(this.lastText));
  }

  rest() {
    if (folding.open) return;
    for (const card of this.cards) card.rest();
  }
}

function* usage({ usage: used, estimated }) {
  if (used === undefined) return;
  if (used === null) return;
  const about = estimated ? "≈ " : "";
  const cached = used.cached ? ` (${number(used.cached)} cached)` : "";
  yield `${about}${number(used.prompt)} in${cached}`;
  yield `${about}${number(used.generated)} out`;
}
