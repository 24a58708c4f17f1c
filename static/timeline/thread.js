// A run's messages, steps and ends of rounds, in an element that scrolls.

import { scrollToElement, followEnd, h, icon } from "../core/dom.js";
import { createRoundEnd } from "./round_end.js";
import { decodePath, formatElapsed, formatNumber, formatSeconds, plural } from "../core/format.js";
import { linkFiles } from "../core/run/file_links.js";
import { PictureList } from "./pictures.js";
import { ScrollPin, USER_SCROLLS } from "./pin_scroll.js";
import { RunResults } from "../results/results.js";
import { stateTone, stateLabel } from "../core/run/run_states.js";
import { Step } from "./step.js";

const WAITING_STATES = new Set(["queued", "preparing_image", "starting_sandbox", "waiting_model", "retrying", "paused", "waiting_approval", "summarising"]);
const LOAD_MARGIN = 1000; // pixels from the viewport: nearer steps are fully loaded, others have only the summary
const BATCH_STEPS = 25; // steps whose layout the browser skips together, and which are observed together
const OUTER_BATCHES = 20; // batches that are skipped together: each skipped element costs time in every frame
const LAST_STEPS = 10; // shown before the first frame tells which are near the viewport
const LOAD_DELAY_MS = 60; // ms; steps that are only scrolled past are not loaded

export class RunThread {
  /**
   * Show `run` in `thread`, the element that scrolls. With `anchored` its steps are places in the
   * page's URL; `loadMargin`, in pixels, is the distance from the viewport within which steps are
   * loaded, and `maxFrames` the number of produced pages shown inline.
   */
  constructor(run, thread, { anchored = false, loadMargin = LOAD_MARGIN, maxFrames = undefined } = {}) {
    this.run = run;
    this.thread = thread;
    this.anchored = anchored;
    this.expanded = false;
    this.follow = followEnd(thread, () => this.offerLatest());
    const near = { root: thread, rootMargin: `${loadMargin}px 0px` };
    // Each frame costs time for every observed element: only the steps of near batches are observed.
    this.batches = new IntersectionObserver((entries) => this.onBatches(entries), near);
    this.visibility = new IntersectionObserver((entries) => this.onVisibility(entries), near);
    // New content gets its size when first rendered, and an answer during layout.
    this.growth = new ResizeObserver(() => this.follow());
    this.scrollPin = new ScrollPin(thread);
    for (const name of USER_SCROLLS) thread.addEventListener(name, () => (this.scrollTarget = null), { passive: true });
    this.results = new RunResults(run, { maxFrames });
    run.on("reset", () => this.reset());
    run.on("state", (state) => this.showState(state));
    run.on("events", (events) => this.events(events));
    run.on("update", () => this.update());
    run.on("tick", () => this.tick());
    for (const name of ["pictures", "moment"]) run.on(name, () => this.showDropped());
  }

  reset() {
    this.batches.disconnect();
    this.visibility.disconnect();
    this.growth.disconnect();
    this.stay();
    for (const step of this.steps?.values() ?? []) step.nearby = false; // cancel pending loads
    this.steps = new Map();
    this.messages = [];
    /** @type {PictureList[]} */
    this.pictures = []; // of the messages
    this.roundEnds = [];
    this.current = this.roundEnd = this.context = this.lastBatch = null;
    this.stepsBefore = 0;
    this.status = h(
      "div",
      { class: "status", hidden: true },
      h("span", { class: "dot" }),
      h("span", { class: "label" }),
      h("span", { class: "time num" }),
      h("div", { class: "progress", hidden: true }, h("i")),
    );
    this.thread.replaceChildren(this.status);
    this.expanded = false;
  }

  showState(state) {
    this.reset();
    const steps = Map.groupBy(state.steps, (step) => step.round);
    const { forked } = state;
    const cut = forked ? state.rounds.findIndex(({ first_step: first }, index) => index && first > forked.step) : -1;
    state.rounds.forEach((round, index) => {
      if (index === cut) this.addFork(forked);
      this.addMessage(round.text, index ? [] : state.inputs, index + 1);
      for (const summary of steps.get(index + 1) ?? []) this.addSummary(summary);
      if (round.status) this.endRound(round);
      else if (round.cut) this.current?.end();
    });
    if (forked && cut < 0) this.addFork(forked);
    for (const step of [...this.steps.values()].slice(-LAST_STEPS)) step.show();
    if (state.unreadable) this.addNote(unreadableMessage(state.unreadable));
    this.follow(true);
  }

  /** Say of which pictures the model no longer gets the bytes. */
  showDropped() {
    for (const each of [...this.pictures, ...(this.steps?.values() ?? [])]) each.showDropped();
  }

  addSummary(summary) {
    const step = Step.fromSummary(summary, this);
    this.addStep(step);
    this.showUsed(step);
    this.answered ||= Boolean(summary.text || summary.reasoning || summary.calls.length);
    this.updateContext(summary);
    this.run.emit("files-changed", { step: summary.step, changes: summary.changes });
  }

  events(events) {
    for (const event of events) this.apply(event);
  }

  apply(event) {
    if (event.kind === "run_started") return this.addMessage(event.task, event.inputs);
    if (event.kind === "run_continued") return this.addMessage(event.text, []);
    if (event.kind === "run_ended") return this.endRound(event);
    if (event.kind === "forked") return this.addFork(event);
    if (event.kind === "step_started") return this.startStep(event.step);
    if (event.kind === "workspace_changed") this.run.emit("files-changed", event);
    if (event.kind === "retrying") this.retryAt = event.at + event.wait;
    if (event.kind === "model_answered") {
      this.answered = true;
      this.updateContext(event);
    }
    if (event.kind === "resumed" && !event.step) return this.addNote(`Paused for ${formatSeconds(event.seconds)}.`, "");
    if (event.kind === "unreadable") return this.unreadable(event);
    return this.steps.get(event.step)?.receive(event);
  }

  /** An unreadable line of the journal, at its position or else at the end. */
  unreadable(event) {
    const step = this.steps.get(event.step) ?? this.current;
    step?.partial === false ? step.receive(event) : this.addNote(event.text);
  }

  /** A message that belongs to no step. */
  addNote(text, kind = "warn") {
    this.append(h("p", { class: `remark ${kind}` }, text));
  }

  /** Update the length of the conversation. */
  updateContext({ usage, estimated }) {
    if (usage) this.context = { tokens: usage.prompt + usage.generated, estimated };
  }

  startStep(number_) {
    if (this.follow.isFollowing()) this.current?.collapse();
    this.current?.end();
    if (!this.steps.has(number_)) this.addStep(new Step(number_, this));
  }

  addStep(step) {
    this.steps.set(step.number, step);
    const digits = String(step.number).length;
    if (digits !== this.digits) this.thread.style.setProperty("--digits", (this.digits = digits)); // restyles all steps
    this.run.step = step.number;
    this.current?.element.classList.remove("last");
    step.element.classList.add("last");
    this.current = step;
    this.batch(step.element);
    if (step.partial) step.nearby = false;
    else this.visibility.observe(step.element); // until it is far from the viewport
    this.watchGrowth(step.element);
  }

  watchGrowth(element) {
    this.growth.disconnect();
    this.growth.observe(element);
  }

  onBatches(entries) {
    for (const { isIntersecting, target } of entries) {
      target.classList.toggle("near", isIntersecting);
      if (isIntersecting) for (const step of target.children) this.visibility.observe(step);
    }
  }

  onVisibility(entries) {
    for (const { isIntersecting, target, boundingClientRect } of entries) {
      const step = this.steps.get(Number(target.dataset.step));
      if (!step) continue;
      step.nearby = isIntersecting;
      if (isIntersecting) step.show();
      else {
        step.unload(boundingClientRect.height);
        if (!target.closest(".near")) this.visibility.unobserve(target);
      }
      if (isIntersecting && step.partial) setTimeout(() => step.nearby && this.load(step), LOAD_DELAY_MS);
    }
  }

  async load(step) {
    await step.load();
    this.follow();
  }

  expandAll(open) {
    this.expanded = open;
    for (const step of this.steps.values()) step.expand(open);
    this.follow();
  }

  /** Scroll to a location of `find`; return its element once it is loaded. */
  async goTo({ part, step: number_, round = 0 }) {
    const step = part === "step" ? this.steps.get(number_) : null;
    const element = step?.element ?? (part === "asked" ? this.messages : this.roundEnds)[round - 1];
    if (!element) return null;
    this.follow(false);
    this.scrollPin.release();
    this.scrollTarget = element;
    if (step) await this.load(step);
    await scrollToElement(element, this.thread, () => this.scrollTarget === element);
    if (step) {
      if (this.scrollTarget === element) await this.load(step); // it was far for a moment of the scrolling
      this.visibility.observe(step.element); // it is unloaded even if the user left before its batch was near
    }
    // What is near may still grow, later than the scrolling has waited for.
    if (this.scrollTarget === element && !this.follow.isFollowing()) this.scrollPin.pin(element);
    return element;
  }

  goToEnd() {
    this.stay();
    this.follow(true);
  }

  /** End the scrolling to an element, also what still follows of it. */
  stay() {
    this.scrollTarget = null;
    this.scrollPin.release();
  }

  /** The end of what a fork has copied from its parent. */
  addFork({ step }) {
    this.append(
      h("p", { class: "forked" }, h("span", {}, `${step === 1 ? "Step 1 is" : `Steps 1 to ${formatNumber(step)} are`} a copy. The fork begins here.`)),
    );
  }

  /** Without a text the model goes on where the conversation ended, as in a fork. */
  addMessage(text, inputs, round = this.messages.length + 1) {
    this.current?.end();
    this.roundEnd?.querySelector(".failure-actions")?.remove();
    for (const message of this.messages) message.querySelector(".edit-message")?.remove();
    this.results.remove();
    const chips = inputs.map((path) => {
      const attributes = { class: "chip", title: "Open this file", onclick: () => this.run.emit("open-file", `input/${path}`) };
      return h("button", attributes, icon("file"), h("b", {}, decodePath(path)));
    });
    const looks = this.run.pictures.ofRound(round);
    const pictures = looks.length ? new PictureList(this.run, looks) : null;
    if (pictures) this.pictures.push(pictures);
    const task = text
      ? h(
          "div",
          { class: "task" },
          h("p", {}, text),
          chips.length ? h("div", {}, ...chips) : null,
          pictures?.element,
          this.messageActions(text, this.current?.number ?? 0),
        )
      : h("p", { class: "remark" }, "The model goes on without a message.");
    this.messages.push(task);
    if (text) linkFiles(this.run, task);
    this.append(task);
    this.stepsBefore = this.run.step;
    this.answered = false; // whether the model produced any text in this round
    this.run.emit("message-sent", { text });
    this.goToEnd();
  }

  endRound({ status, reason, answer }) {
    if (this.follow.isFollowing()) this.current?.collapse();
    this.current?.end();
    const repeated = this.current?.hasText(answer);
    const succeeded = ["submitted", "answered"].includes(status);
    const message = succeeded && answer && !repeated ? this.closingStep() : null;
    if ((repeated && succeeded) || message === this.current) this.current?.element.classList.add("repeated");
    const displayedAnswer = succeeded || !repeated ? answer : "";
    this.roundEnd = createRoundEnd(status, reason, displayedAnswer, {
      onText: (text) => linkFiles(this.run, text),
      message: message && loadedText(message),
      ...this.failureActions(),
    });
    this.roundEnds[this.messages.length - 1] = this.roundEnd;
    this.append(this.roundEnd);
    this.watchGrowth(this.roundEnd);
    const place = this.roundEnd.querySelector(".outputs");
    this.results.show(place, { since: this.stepsBefore, answered: Boolean(displayedAnswer) }).then(() => this.showEnding());
  }

  /** The step with the text that ends the round: the last one, or the one before it if that only submits; null if none. */
  closingStep() {
    const last = this.current?.number ?? 0;
    const steps = [last, last - 1].filter((number) => number > this.stepsBefore).map((number) => this.steps.get(number));
    return steps.find((step) => step?.text.trim()) ?? null;
  }

  /** Show the end of the thread; if it does not fit, the start of the ending. */
  showEnding() {
    if (!this.follow() || !this.roundEnd) return;
    const hidden = this.thread.getBoundingClientRect().top - this.roundEnd.getBoundingClientRect().top;
    if (hidden <= 0) return;
    this.follow(false); // growth below is not read first
    this.scrollPin.pin(this.roundEnd);
  }

  append(element) {
    this.status.before(element);
    this.lastBatch = null; // later steps get a new batch
  }

  /** Group steps in batches, so that the browser skips layout per batch instead of per step. */
  batch(element) {
    if (!this.lastBatch || this.lastBatch.childElementCount >= BATCH_STEPS) {
      const outer = this.lastBatch?.parentElement;
      this.lastBatch = h("div", { class: "batch" });
      if (outer && outer.childElementCount < OUTER_BATCHES) outer.append(this.lastBatch);
      else this.status.before(h("div", { class: "batches" }, this.lastBatch));
      this.batches.observe(this.lastBatch);
    }
    this.lastBatch.append(element);
  }

  update() {
    this.showStatus();
    this.tick();
    this.offerLatest();
    this.follow();
  }

  showStatus() {
    const { status } = this.run;
    this.status.hidden = !status.running || !WAITING_STATES.has(status.state);
    this.status.dataset.tone = stateTone(status);
    const [text, bar, fill] = ["label", "progress", "progress i"].map((name) => this.status.querySelector(`.${name}`));
    text.textContent = stateLabel(status) + stateDetail(status);
    bar.hidden = status.state !== "preparing_image";
    bar.classList.toggle("indeterminate", status.progress === null || status.progress === undefined);
    fill.style.width = `${100 * (status.progress ?? 0)}%`;
  }

  tick() {
    const { status } = this.run;
    if (!status?.running) return;
    const secondsLeft = (this.retryAt ?? 0) - this.run.now();
    const time = status.state === "retrying" && secondsLeft > 0 ? `in ${Math.ceil(secondsLeft)} s` : formatElapsed(this.run.now() - status.state_since);
    this.status.querySelector(".time").textContent = time;
    this.current?.tick();
  }

  /** What a step used of the computer has changed. */
  showUsed(_step) {}

  /** What the last message offers, which follows the step `before`: an element, or nothing. */
  messageActions(_text, _before) {
    return null;
  }

  /** What a failed round offers: `onRetry` and `onSettings`; nothing by default. */
  failureActions() {
    return {};
  }

  /** Whether the thread follows its end has changed. */
  offerLatest() {}
}

/** A step's text, which is whole once the step is loaded. */
const loadedText = async (step) => {
  await step.load();
  return step.text;
};

function unreadableMessage(count) {
  const [events, note] = count === 1 ? ["1 event", "It is not lost."] : [plural(count, "event"), "They are not lost."];
  return `This version cannot read ${events} in this run's log. ${note}`;
}

/** Details of a state beyond its label. */
function stateDetail({ state, detail }) {
  if (!detail || ["retrying", "waiting_model"].includes(state)) return "";
  if (state !== "queued") return `: ${detail}`;
  const reasonStart = detail.indexOf(";");
  return reasonStart < 0 ? ". It starts automatically." : `${detail.slice(reasonStart)}.`;
}
