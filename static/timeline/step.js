// One step of a run: reasoning, text, tool calls and changed files.

import { createContextSummary, createPendingSummary } from "./text/context_summary.js";
import { ToolCard } from "./tool_card.js";
import { PictureList } from "./pictures.js";
import { StepFiles } from "./step_files.js";
import { createStepStrip } from "../capabilities/step_strip.js";
import { combine, NOTHING_USED, withWritten } from "../capabilities/usage.js";
import { GrowingText, h, setChildren, updateChildren } from "../core/dom.js";
import { firstLine, formatElapsed, plural, formatSeconds, stripMarkdown } from "../core/format.js";
import { LiveMarkdown } from "./text/live_markdown.js";
import { renderMarkdown } from "../core/text/markdown.js";
import { usageParts } from "../core/run/totals.js";
import { openRequests } from "../inspector/open.js";
import { addStepAction, createStepActions } from "../core/run/step_actions.js";
import { withHiddenMarked } from "../core/text/hidden_characters.js";
import { linkFiles } from "../core/run/file_links.js";
import { fetchJson } from "../core/loading/fetch.js";
import { createShortVerdict, createStepVerdict } from "../replay/step_verdict.js";
import { createForm, createTextArea } from "../steering/form.js";

const MAX_UNLOADED = 2000; // characters; longer text is removed when the step is unloaded
const USUAL_HEIGHT = "120px"; // of a step that was never shown

/** How a step takes in its events, by kind; others change nothing. */
const APPLY = {
  reasoning_delta: (step, { text, at }) => step.addReasoning(text, at),
  text_delta: (step, { text }) => step.addText(text),
  call_delta: (step, event) => step.addCallText(event),
  model_answered: (step, event) => step.endTurn(event),
  message_delivered: (step, event) => step.addMessage(event),
  resumed: (step, { seconds }) => step.addNote(`Paused for ${formatSeconds(seconds)}.`),
  approval_requested: (step, event) => step.cardFor(event).ask(event),
  call_reviewed: (step, event) => step.byId.get(event.call_id)?.review(event),
  observation_edited: (step, event) => step.byId.get(event.call_id)?.editObservation(event),
  tool_started: (step, event) => step.cardFor(event).start(event),
  tool_output: (step, event) => step.byId.get(event.call_id)?.output(event),
  tool_ended: (step, event) => step.endCall(event),
  workspace_changed: (step, event) => step.addFiles(event),
  retrying: (step, event) => step.retry(event),
  notice: (step, { text }) => step.addNote(text),
  reminder: (step, { text }) => step.addReminder(text),
  observations_cleared: (step, { call_ids: ids }) => step.addNote(`${plural(ids.length, "older output")} removed from the conversation to free up space.`),
  pictures_dropped: (step, { pictures }) =>
    step.addNote(`${plural(pictures.length, "older picture")} replaced by a description in the conversation to free up space.`),
  summary_started: (step, event) => step.add((step.pendingSummary = createPendingSummary(event))),
  summary_ended(step, event) {
    step.pendingSummary?.remove();
    step.add(createContextSummary(event, step.view.run));
  },
  unreadable: (step, { text }) => step.addNote(text, "warn"),
  step_noted: (step, event) => event.step === step.number && step.addUserNote(event),
  step_verified: (step, event) => step.showVerdict(createStepVerdict(event)),
  step_ended: (step) => step.finish(),
};

const identify = ({ kind, at }) => `${kind} ${at}`;

export class Step {
  /** `view` is the thread that shows the step: its `run`, whether all steps are `expanded`, and whether they are `anchored` in the page's URL. */
  constructor(number_, view) {
    this.number = number_;
    this.view = view;
    this.content = "all"; // or only the "summary", or "loading"
    this.ended = false;
    this.nearby = true;
    this.height = 0; // when it was last seen
    this.outline = null; // what stands for the body while the step is far
    this.body = h("div", { class: "step-body" });
    const link = h(
      "a",
      {
        class: "step-number num",
        href: `?run=${view.run.id}#step-${number_}`,
        "aria-label": `Link to step ${number_}`,
        title: "Link to this step",
      },
      String(number_),
    );
    const id = view.anchored ? `step-${number_}` : null;
    const landmark = view.anchored ? "region" : null; // columns of several runs would have the same ones
    this.element = h(
      "article",
      { class: "step", id, "data-step": number_, role: landmark, tabindex: "-1", "aria-label": `Step ${number_}: in progress` },
      link,
      this.body,
    );
    this.files = new StepFiles(this);
    this.notes = new Map(); // the user's, by when they were written: they may be older or newer than what is loaded
    /** @type {{ kind: string, at: number }[]} */
    this.later = []; // events that came after its end: what is loaded may be older
    this.clear();
  }

  /** A step with its summary only, whose body is built when it is shown; `load` fetches the rest. */
  static fromSummary(summary, view) {
    const step = new Step(summary.step, view);
    step.content = "summary";
    step.ended = true;
    step.summary = summary;
    step.text = summary.text;
    step.used = summary.used;
    step.nameOutcome();
    step.hide();
    return step;
  }

  /** Build the body from the summary, unless that was done. */
  build() {
    const { summary, view } = this;
    if (!summary) return;
    this.summary = null;
    this.text = "";
    for (const each of summary.summaries ?? []) this.add(createContextSummary(each, view.run));
    if (summary.reasoning) this.addReasoning(summary.reasoning, summary.began);
    if (summary.text) this.addText(summary.text);
    this.message?.text.close();
    for (const call of summary.calls) this.addCard(ToolCard.fromSummary(call, view.run, summary.reviews?.[call.id]));
    this.files.add(summary.changes, summary.total_changes);
    this.usage = summary.usage;
    this.estimated = summary.estimated;
    this.modelSeconds = summary.model_seconds;
    this.sandboxSeconds = summary.calls.reduce((sum, call) => sum + call.seconds, 0);
    this.showUsage();
    for (const each of summary.annotations ?? []) this.apply(each);
    if (summary.verdict) this.showVerdict(createShortVerdict(summary.verdict));
    if (this.opened !== null) this.expand(this.opened);
  }

  clear() {
    this.summary = null; // of which the body is not built yet
    this.opened = null; // whether its details will be open, if that was asked for
    this.body.replaceChildren();
    this.files.clear();
    this.cards = [];
    this.streamedCards = new Map();
    this.byId = new Map();
    this.reasoning = null;
    this.message = null;
    this.pendingSummary = null;
    this.usageLine = null;
    this.noteList = this.noteField = null;
    /** @type {PictureList | null} */
    this.sentPictures = null; // with a message that was delivered in the step
    this.verdict = null;
    this.text = "";
    this.usage = undefined;
    this.used = null;
    this.strip = null;
    this.modelSeconds = 0;
    this.sandboxSeconds = 0;
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
      events = await fetchJson(this.view.run.url(`steps/${this.number}`));
    } catch {
      // the summary stays; loading is retried when it comes near again
    }
    if (this.content === "loading") events ? this.rebuild(events) : (this.content = "summary");
  }

  rebuild(events) {
    this.show();
    const toggled = new Map(this.cards.filter((card) => card.toggled).map((card) => [card.id, card.element.open]));
    const wasOpen = this.reasoning?.element.open;
    const { used, usageLine } = this;
    const shown = this.body;
    this.body = h("div"); // without layout while building
    this.clear();
    this.content = "all";
    const loaded = new Set(events.map(identify));
    for (const event of [...events, ...this.later.filter((each) => !loaded.has(identify(each)))]) this.apply(event);
    this.used = used ?? this.used; // the events of an earlier version do not have it
    this.view.showUsed(this);
    this.interrupt();
    this.showUsage();
    this.collapse();
    this.replace(shown, usageLine);
    for (const card of this.cards) if (toggled.has(card.id)) card.expand(toggled.get(card.id));
    if (this.reasoning && wasOpen) this.reasoning.element.open = true;
    for (const card of this.cards) if (card.element.open) card.followOutput?.();
    this.element.style.minHeight = "";
  }

  /** Show the new body's content in the one that is shown, whose line of usage stays: one of its buttons may be pressed. */
  replace(shown, line) {
    const built = [...this.body.childNodes];
    if (line) {
      updateChildren(line, [...this.usageLine.childNodes]);
      built[built.indexOf(this.usageLine)] = this.usageLine = line;
    }
    setChildren(shown, built);
    this.body = shown;
  }

  /** Show the step as it was after some of its events: `next` follow those that are shown, or with `again` are the first ones. `showAll` shows the rest. */
  showPart(next, again) {
    const { used } = this;
    if (again) {
      this.show();
      this.clear();
      this.content = "part";
    }
    for (const event of next) this.apply(event);
    this.used = used;
  }

  /** Show all events of a step of which a part is shown; `shown` of them are. */
  showAll(events, shown) {
    if (this.content !== "part") return;
    if (shown < events.length || this.later.length) return void this.rebuild(events);
    this.content = "all";
    this.finish();
  }

  /** Unload all but the summary of a step far from the viewport; keep its height. */
  unload(height) {
    this.height = height; // as the observer has measured it: reading it would lay out the page
    if (!this.ended) return;
    if (height && !this.outline) this.element.style.minHeight = `${height}px`; // 0 for an element without layout
    if (this.content === "all") this.unloadContent();
    this.content = "summary";
    this.hide();
  }

  unloadContent() {
    for (const card of this.cards) card.unload();
    this.reasoning?.text.clear();
    if (this.message && this.text.length > MAX_UNLOADED) {
      this.message.element.textContent = this.text.slice(0, MAX_UNLOADED);
      this.message.element.classList.remove("markdown", "columns");
    }
  }

  /** Show the summary as text only: each `<details>` of a page slows opening one, so a step far from the viewport must not have any. */
  hide() {
    if (this.outline || this.body.contains(document.activeElement)) return;
    const { summary } = this;
    const thought = summary ? thoughtLine(summary.reasoning) : this.reasoning?.summary.textContent;
    const calls = summary ? summary.calls.map((call) => withHiddenMarked(call.summary)) : this.cards.map((card) => card.summary.textContent);
    const lines = [thought, this.text.slice(0, MAX_UNLOADED), ...calls].filter(Boolean);
    this.outline = h("div", { class: "step-body outline" }, lines.length ? h("p", {}, lines.join("\n")) : null);
    this.element.style.minHeight ||= USUAL_HEIGHT;
    this.body.replaceWith(this.outline);
  }

  show() {
    this.build();
    this.outline?.replaceWith(this.body);
    this.outline = null;
  }

  /** Name the step with its outcome: a reader of the page hears it, and jumps from step to step. */
  nameOutcome() {
    const failed = this.summary ? this.summary.calls.filter(({ ok, exit_code: exit }) => !ok || exit).length : this.cards.filter((card) => card.failed).length;
    this.element.setAttribute("aria-label", `Step ${this.number}: ${failed ? plural(failed, "failed call") : "done"}`);
  }

  /** Mark the step as ended. */
  end() {
    this.ended = true;
    this.interrupt();
    this.nameOutcome();
    this.countUsed();
    if (!this.partial && !this.usageLine) this.showUsage(); // it was interrupted
    if (!this.nearby) this.unload(this.height);
  }

  interrupt() {
    for (const card of this.cards) card.interrupt();
    this.pendingSummary?.remove(); // its end is not recorded
  }

  expand(open) {
    if (this.summary) this.opened = open;
    for (const card of this.cards) card.expand(open);
    if (this.reasoning) this.reasoning.element.open = open;
  }

  /** Take in a new event of the run; a step that is shown in part keeps it until it is shown whole. */
  receive(event) {
    if (this.ended) this.later.push(event);
    if (this.content !== "part") this.apply(event);
  }

  apply(event) {
    this.build();
    return APPLY[event.kind]?.(this, event);
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
    reasoning.element.open = this.view.expanded;
    reasoning.summary.textContent = thoughtLine(reasoning.first, reasoning.last - reasoning.startedAt);
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
      card = new ToolCard(event.name, this.view.run);
      this.streamedCards.set(event.index, card);
      this.addCard(card);
    }
    card.append(event.arguments);
  }

  endTurn(event) {
    if (event.reasoning && !this.reasoning && this.message) this.moveToReasoning(event);
    this.endReasoning();
    this.usage = event.usage;
    this.estimated = event.estimated;
    this.modelSeconds = event.seconds;
    const cards = [...this.streamedCards.entries()].sort(([a], [b]) => a - b).map(([, card]) => card);
    event.calls.forEach((call, position) => {
      const card = cards[position] ?? this.addCard(new ToolCard(call.name, this.view.run));
      card.id = call.id;
      card.raw = call.arguments;
      this.byId.set(call.id, card);
    });
    this.text = event.text;
    this.message?.text.close();
    this.rendered = this.message ? renderMarkdown(this.message.element, event.text) : null;
  }

  /** Show as reasoning what came as text, because the tag that begins it was in the prompt. */
  moveToReasoning({ reasoning, text, at }) {
    const { element, text: shown } = this.message;
    this.addReasoning(reasoning, at);
    element.before(this.reasoning.element);
    if (text) return;
    shown.close();
    element.remove();
    this.message = null;
  }

  cardFor(event) {
    let card = this.byId.get(event.call_id);
    if (!card) this.byId.set(event.call_id, (card = this.addCard(new ToolCard(event.name, this.view.run))));
    return card;
  }

  endCall(event) {
    this.cardFor(event).end(event);
    this.sandboxSeconds += event.seconds;
    this.used = combine(this.used, event.used);
    this.view.showUsed(this);
  }

  addFiles(event) {
    this.files.add(event.changes, event.total);
    this.used = withWritten(this.used, this.files.total);
    this.view.showUsed(this);
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

  /** A message that the user sent while the run worked. */
  addMessage({ text, pictures = [] }) {
    const message = userText(text, "Sent while the model worked");
    if (pictures.length) {
      this.sentPictures = new PictureList(this.view.run, this.view.run.pictures.ofStep(this.number));
      message.append(this.sentPictures.element);
    }
    this.add(message);
  }

  /** Say of which pictures the model no longer gets the bytes. */
  showDropped() {
    this.sentPictures?.showDropped();
    for (const card of this.cards) card.pictures?.showDropped();
  }

  /** A note that the user wrote on the step. */
  addUserNote({ at, text }) {
    this.notes.set(at, text);
    this.showNotes();
  }

  showNotes() {
    this.noteList?.remove();
    this.noteList = h("div", {}, ...[...this.notes.values()].map((text) => userText(text, "Note on this step")));
    if (this.notes.size) this.add(this.noteList);
  }

  /** Offer a form for a note on the step. */
  askForNote() {
    if (this.noteField?.isConnected) return this.noteField.focus();
    const field = createTextArea("");
    this.noteField = field;
    const save = async (text) => {
      try {
        await fetchJson(this.view.run.url(`steps/${this.number}/notes`), { method: "POST", body: JSON.stringify({ text }) });
        shown.remove();
      } catch (error) {
        form.problem.hidden = false;
        form.problem.textContent = error.message;
      }
    };
    const form = createForm({ label: "Note", field, submit: "Save", onSubmit: save, onCancel: () => shown.remove() });
    const shown = h("div", { class: "approval" }, form.element);
    this.add(shown);
    field.focus();
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
    const last = this.usageLine ?? this.verdict;
    if (last) last.before(element);
    else this.body.append(element);
  }

  tick() {
    for (const card of this.cards) card.tick();
    const reasoning = this.reasoning;
    if (reasoning?.live) reasoning.summary.textContent = `Thinking · ${formatElapsed(this.view.run.shownTime() - reasoning.startedAt)}`;
  }

  /** Show what the step used; without a call it used nothing. */
  countUsed() {
    const calls = this.summary?.calls ?? this.cards;
    if (!calls.length) this.used ??= NOTHING_USED;
    this.view.showUsed(this);
  }

  /** The step is complete: link the files it names. */
  async finish() {
    this.countUsed();
    this.nameOutcome();
    this.showUsage();
    const { message } = this;
    await this.rendered;
    if (this.partial || message !== this.message) return;
    for (const card of this.cards) card.link();
    if (message) linkFiles(this.view.run, message.element, () => this.view.run.emit("files-linked", this.element));
  }

  /** Show the line of usage and changes of the step. */
  showUsage() {
    this.endReasoning();
    this.message?.text.flush();
    const line = this.usageLine ?? h("div", { class: "changed-files num" });
    const usage = [...usageParts(this)];
    if (this.modelSeconds >= 0.05) usage.push(`model ${formatSeconds(this.modelSeconds)}`);
    if (this.sandboxSeconds >= 0.05) usage.push(`sandbox ${formatSeconds(this.sandboxSeconds)}`);
    const parts = [...this.files.chips(), h("span", {}, usage.join(" · ")), this.requestButton(), createStepActions(this)];
    updateChildren(line, parts.filter(Boolean));
    if (!this.usageLine) this.add(line);
    this.usageLine = line;
    this.showNotes();
    this.strip?.remove();
    this.strip = createStepStrip(this.used);
    if (this.strip) line.after(this.strip);
  }

  /** Show how a replayed step compares; it stays the last line of the step. */
  showVerdict(element) {
    this.verdict?.remove();
    this.verdict = element;
    this.body.append(element);
  }

  requestButton() {
    const { run } = this.view;
    const title = "What this step sent to the model, and what came back (i)";
    const attributes = { class: "more request", title, "aria-label": `Request of step ${this.number}` };
    return h("button", { ...attributes, onclick: () => openRequests(run.id, this.number) }, "Request");
  }

  /** Whether this is the model's text in the step; for a summary only its start is known. */
  hasText(text) {
    return this.text === text || (this.partial && this.text.length >= 200 && text.startsWith(this.text));
  }

  collapse() {
    if (this.view.expanded) return;
    for (const card of this.cards) card.collapse();
  }
}

/** The line that stands for reasoning; empty if there is none. */
function thoughtLine(text, seconds = 0) {
  const time = seconds > 0.05 ? ` for ${formatSeconds(seconds)}` : "";
  return text && `Thought${time} · ${firstLine(stripMarkdown(text))}`;
}

/** A text of the user, and what it is. */
const userText = (text, about) => h("div", { class: "task delivered" }, h("p", { dir: "auto" }, text), h("div", { class: "about" }, about));

addStepAction({
  label: "Note…",
  title: "Write a note on this step: it is shown here, exported and found, and the model does not get it",
  order: 40,
  onclick: (step) => step.askForNote(),
});
