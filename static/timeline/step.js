// One step of a run: reasoning, text, tool calls and changed files.

import { ToolCard } from "./tool_card.js";
import { StepFiles } from "./step_files.js";
import { GrowingText, h } from "../core/dom.js";
import { firstLine, plural, formatSeconds, stripMarkdown } from "../core/format.js";
import { LiveMarkdown } from "./live_markdown.js";
import { renderMarkdown } from "../core/markdown.js";
import { usageParts } from "./totals.js";
import { linkFiles } from "../core/file_links.js";
import { fetchJson, emit, runApiUrl, currentRun } from "../core/event_stream.js";

const MAX_UNLOADED = 2000; // characters; longer text is removed when the step is unloaded

/** Whether all steps are expanded, including future ones. */
export const expansion = { open: false };

export class Step {
  constructor(number_) {
    this.number = number_;
    this.content = "all"; // or only the "summary", or "loading"
    this.ended = false;
    this.nearby = true;
    this.body = h("div", { class: "step-body" });
    const link = h("a", {
      class: "step-number num", href: `?run=${currentRun.id}#step-${number_}`, "aria-label": `Link to step ${number_}`, title: "Link to this step",
    }, String(number_));
    this.element = h("article", { class: "step", id: `step-${number_}`, "aria-label": `Step ${number_}` }, link, this.body);
    this.files = new StepFiles(this);
    this.clear();
  }

  /** A step with its summary only; `load` fetches the rest. */
  static fromSummary(summary) {
    const step = new Step(summary.step);
    step.content = "summary";
    step.ended = true;
    if (summary.reasoning) step.addReasoning(summary.reasoning, summary.began);
    step.endReasoning();
    if (summary.text) step.addText(summary.text);
    step.message?.text.close();
    for (const call of summary.calls) step.addCard(ToolCard.fromSummary(call));
    step.files.add(summary.changes, summary.total_changes);
    step.usage = summary.usage;
    step.estimated = summary.estimated;
    step.modelSeconds = summary.model_seconds;
    step.sandboxSeconds = summary.calls.reduce((sum, call) => sum + call.seconds, 0);
    step.showUsage();
    return step;
  }

  clear() {
    this.body.replaceChildren();
    this.files.clear();
    Object.assign(this, {
      cards: [], streamedCards: new Map(), byId: new Map(), reasoning: null, message: null, usageLine: null,
      text: "", usage: undefined, modelSeconds: 0, sandboxSeconds: 0,
    });
  }

  /** Whether only the summary is loaded. */
  get partial() {
    return this.content !== "all";
  }

  /** Load the whole step when it comes near the viewport. */
  load() {
    if (this.content === "summary") {
      this.content = "loading";
      this.loading = this.fetch();
    }
    return this.loading;
  }

  async fetch() {
    let events = null;
    try {
      events = await fetchJson(runApiUrl(`steps/${this.number}`));
    } catch {
      // the summary stays; loading is retried when it comes near again
    }
    if (this.content === "loading") events ? this.rebuild(events) : (this.content = "summary");
  }

  rebuild(events) {
    const toggled = new Map(this.cards.filter((card) => card.toggled).map((card) => [card.id, card.element.open]));
    const wasOpen = this.reasoning?.element.open;
    this.body.remove(); // avoid layout while building
    this.clear();
    this.content = "all";
    for (const event of events) this.apply(event);
    this.interrupt();
    this.showUsage();
    this.collapse();
    this.element.append(this.body);
    for (const card of this.cards) if (toggled.has(card.id)) card.expand(toggled.get(card.id));
    if (this.reasoning && wasOpen) this.reasoning.element.open = true;
    for (const card of this.cards) if (card.element.open) card.followOutput?.();
    this.element.style.minHeight = "";
  }

  /** Unload all but the summary of a step far from the viewport; keep its height. */
  unload(height) {
    if (this.content === "loading") this.content = "summary";
    if (this.partial || !this.ended) return;
    this.content = "summary";
    if (height) this.element.style.minHeight = `${height}px`; // 0 for an element without layout
    for (const card of this.cards) card.unload();
    this.reasoning?.text.clear();
    if (this.message && this.text.length > MAX_UNLOADED) {
      this.message.element.textContent = this.text.slice(0, MAX_UNLOADED);
      this.message.element.classList.remove("markdown", "columns");
    }
  }

  /** Mark the step as ended. */
  end() {
    this.ended = true;
    this.interrupt();
    if (!this.partial && !this.usageLine) this.showUsage(); // it was interrupted
    if (!this.nearby) this.unload(this.element.offsetHeight);
  }

  interrupt() {
    for (const card of this.cards) card.interrupt();
  }

  expand(open) {
    for (const card of this.cards) card.expand(open);
    if (this.reasoning) this.reasoning.element.open = open;
  }

  apply(event) {
    switch (event.kind) {
      case "reasoning_delta": return this.addReasoning(event.text, event.at);
      case "text_delta": return this.addText(event.text);
      case "call_delta": return this.addCallText(event);
      case "model_answered": return this.endTurn(event);
      case "tool_started": return this.cardFor(event).start(event);
      case "tool_output": return this.byId.get(event.call_id)?.output(event);
      case "tool_ended": return this.endCall(event);
      case "workspace_changed": return this.addFiles(event);
      case "retrying": return this.retry(event);
      case "notice": return this.addNote(event.text);
      case "reminder": return this.addReminder(event.text);
      case "observations_cleared": return this.addNote(`${plural(event.call_ids.length, "older output")} removed from the conversation to free up space.`);
      case "unreadable": return this.addNote(event.text, "warn");
      case "step_ended": return this.finish();
      default: return undefined;
    }
  }

  addReasoning(text, at) {
    if (!this.reasoning) {
      const summary = h("summary", {}, "Thinking");
      const body = h("div", { class: "reasoning-text" });
      const element = h("details", { class: "reasoning", open: true }, summary, body);
      this.reasoning = { summary, element, text: new GrowingText(body), startedAt: at, first: "", live: true };
      this.add(element);
    }
    this.reasoning.last = at;
    if (this.reasoning.first.length < 200) this.reasoning.first += text;
    this.reasoning.text.append(text);
  }

  endReasoning() {
    const reasoning = this.reasoning;
    if (!reasoning?.live) return;
    reasoning.live = false;
    reasoning.element.open = expansion.open;
    const duration = reasoning.last - reasoning.startedAt;
    const time = duration > 0.05 ? ` for ${formatSeconds(duration)}` : "";
    reasoning.summary.textContent = `Thought${time} · ${firstLine(stripMarkdown(reasoning.first))}`;
  }

  addText(text) {
    this.endReasoning();
    if (!this.message) {
      const element = h("div", { class: "step-text" });
      this.message = { element, text: new LiveMarkdown(element) };
      this.add(element);
    }
    this.message.text.append(text);
    this.text += text;
  }

  addCallText(event) {
    this.endReasoning();
    let card = this.streamedCards.get(event.index);
    if (!card) {
      card = new ToolCard(event.name);
      this.streamedCards.set(event.index, card);
      this.addCard(card);
    }
    card.append(event.arguments);
  }

  endTurn(event) {
    this.endReasoning();
    this.usage = event.usage;
    this.estimated = event.estimated;
    this.modelSeconds = event.seconds;
    const cards = [...this.streamedCards.entries()].sort(([a], [b]) => a - b).map(([, card]) => card);
    event.calls.forEach((call, position) => {
      const card = cards[position] ?? this.addCard(new ToolCard(call.name));
      card.id = call.id;
      card.raw = call.arguments;
      this.byId.set(call.id, card);
    });
    this.text = event.text;
    this.message?.text.close();
    this.rendered = this.message ? renderMarkdown(this.message.element, event.text) : null;
  }

  cardFor(event) {
    let card = this.byId.get(event.call_id);
    if (!card) this.byId.set(event.call_id, (card = this.addCard(new ToolCard(event.name))));
    return card;
  }

  endCall(event) {
    this.cardFor(event).end(event);
    this.sandboxSeconds += event.seconds;
  }

  addFiles(event) {
    this.files.add(event.changes, event.total);
    if (this.usageLine) this.showUsage();
  }

  retry(event) {
    for (const card of this.streamedCards.values()) card.element.remove();
    this.cards = this.cards.filter((card) => ![...this.streamedCards.values()].includes(card));
    this.streamedCards.clear();
    this.reasoning?.element.remove();
    this.message?.text.close();
    this.message?.element.remove();
    this.reasoning = this.message = null;
    this.addNote(`${event.reason.replace(/([^.!?…])$/, "$1.")} Attempt ${event.attempt} starts in ${formatSeconds(event.wait)}.`, "warn");
  }

  addNote(text, kind = "") {
    this.add(h("p", { class: `remark ${kind}` }, text));
  }

  addReminder(text) {
    this.add(h("details", { class: "reminder" }, h("summary", {}, `Reminder to the model: ${firstLine(text)}`), h("div", {}, text)));
  }

  addCard(card) {
    this.cards.push(card);
    if (card.id) this.byId.set(card.id, card);
    this.add(card.element);
    return card;
  }

  add(element) {
    if (this.usageLine) this.usageLine.before(element);
    else this.body.append(element);
  }

  tick() {
    for (const card of this.cards) card.tick();
    const reasoning = this.reasoning;
    if (reasoning?.live) reasoning.summary.textContent = `Thinking · ${formatSeconds(currentRun.now() - reasoning.startedAt)}`;
  }

  /** The step is complete: link the files it names. */
  async finish() {
    this.showUsage();
    const { message } = this;
    await this.rendered;
    if (this.partial || message !== this.message) return;
    for (const card of this.cards) card.link();
    if (message) linkFiles(message.element, () => emit("files-linked", this.element));
  }

  /** Show the line of usage and changes of the step. */
  showUsage() {
    this.endReasoning();
    this.message?.text.flush();
    const line = h("div", { class: "changed-files num" }, ...this.files.chips());
    const usage = [...usageParts(this)];
    if (this.modelSeconds >= 0.05) usage.push(`model ${formatSeconds(this.modelSeconds)}`);
    if (this.sandboxSeconds >= 0.05) usage.push(`sandbox ${formatSeconds(this.sandboxSeconds)}`);
    line.append(h("span", {}, usage.join(" · ")));
    this.usageLine?.remove();
    this.usageLine = null;
    this.body.append(line);
    this.usageLine = line;
  }

  /** Whether this is the model's text in the step; for a summary only its start is known. */
  hasText(text) {
    return this.text === text || (this.partial && this.text.length >= 200 && text.startsWith(this.text));
  }

  collapse() {
    if (expansion.open) return;
    for (const card of this.cards) card.collapse();
  }
}
