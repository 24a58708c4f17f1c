// The thread of a run: user messages, steps and the end of each round.

import { scrollToElement, followEnd, h, icon } from "../core/dom.js";
import { createRoundEnd } from "./round_end.js";
import { RunSearch } from "./find.js";
import { formatClock, formatNumber, decodePath } from "../core/format.js";
import { showTotals } from "./totals.js";
import { linkFiles } from "../core/file_links.js";
import { ScrollPin } from "./pin_scroll.js";
import { removeResults, showResults } from "../results/results.js";
import { showRun, startEventStream, emit, on, currentRun } from "../core/event_stream.js";
import { stateTone, stateLabel } from "../core/run_states.js";
import { Step, expansion } from "./step.js";
import { mountRunTools } from "./export_menu.js";
import { openSettings, createWelcome } from "../composer/welcome.js";

const WAITING_STATES = new Set(["queued", "preparing_image", "starting_sandbox", "waiting_model", "retrying"]);
const LOAD_MARGIN = "1000px"; // from the viewport: nearer steps are fully loaded, others have only the summary
const BATCH_STEPS = 25; // steps whose layout the browser skips together
const LOAD_DELAY_MS = 60; // ms; steps that are only scrolled past are not loaded

class Timeline {
  constructor(root) {
    this.thread = root.querySelector(".thread");
    this.overview = root.querySelector(".overview");
    this.meter = root.querySelector(".meter");
    this.badge = root.querySelector(".badge");
    this.latest = root.querySelector(".latest");
    this.follow = followEnd(this.thread, () => this.offerLatest());
    this.latest.addEventListener("click", () => this.goToEnd());
    this.visibility = new IntersectionObserver((entries) => this.onVisibility(entries), { root: this.thread, rootMargin: `${LOAD_MARGIN} 0px` });
    // New content gets its size when first rendered, and an answer during layout.
    this.growth = new ResizeObserver(() => this.follow());
    this.scrollPin = new ScrollPin(this.thread);
    this.search = new RunSearch(root.querySelector(".find"), this.thread, (place) => this.goTo(place));
    this.tools = mountRunTools(root.querySelector(".run-tools"), { onExpand: (open) => this.expandAll(open), onFind: () => this.search.open() });
    addEventListener("hashchange", () => this.goToLink());
    this.thread.addEventListener("click", (event) => this.onClick(event));
    on("reset", () => this.reset());
    on("state", (state) => this.showState(state));
    on("events", (events) => this.events(events));
    on("update", () => this.update());
    on("tick", () => this.tick());
    on("files-linked", (element) => this.search.highlight(element));
    this.reset();
  }

  reset() {
    this.visibility.disconnect();
    this.scrollPin.release();
    for (const step of this.steps?.values() ?? []) step.nearby = false; // cancel pending loads
    this.steps = new Map();
    this.messages = [];
    this.roundEnds = [];
    this.current = this.roundEnd = this.context = this.linkedStep = this.lastBatch = null;
    this.stepsBefore = 0;
    this.status = h("div", { class: "status", hidden: true },
      h("span", { class: "dot" }), h("span", { class: "label" }), h("span", { class: "time num" }),
      h("div", { class: "progress", hidden: true }, h("i")));
    this.thread.replaceChildren(this.status);
    this.overview.hidden = this.badge.hidden = this.latest.hidden = true;
    this.search.close();
    this.tools.reset();
    if (!currentRun.id) this.showWelcome();
  }

  showWelcome() {
    this.welcome = createWelcome();
    this.thread.prepend(this.welcome);
  }

  showState(state) {
    this.reset();
    if (!state.rounds.length) return this.showWelcome();
    const steps = Map.groupBy(state.steps, (step) => step.round);
    state.rounds.forEach((round, index) => {
      this.addMessage(round.text, index ? [] : state.inputs);
      for (const summary of steps.get(index + 1) ?? []) this.addSummary(summary);
      if (round.status) this.endRound(round);
    });
    if (state.unreadable) this.addNote(unreadableMessage(state.unreadable));
    this.follow(true);
    return this.goToLink();
  }

  addSummary(summary) {
    this.addStep(Step.fromSummary(summary));
    this.answered ||= Boolean(summary.text || summary.reasoning || summary.calls.length);
    this.updateContext(summary);
    emit("files-changed", { step: summary.step, changes: summary.changes });
  }

  events(events) {
    for (const event of events) this.apply(event);
  }

  apply(event) {
    if (event.kind === "run_started") return this.addMessage(event.task, event.inputs);
    if (event.kind === "run_continued") return this.addMessage(event.text, []);
    if (event.kind === "run_ended") return this.endRound(event);
    if (event.kind === "step_started") return this.startStep(event.step);
    if (event.kind === "workspace_changed") emit("files-changed", event);
    if (event.kind === "retrying") this.retryAt = event.at + event.wait;
    if (event.kind === "model_answered") {
      this.answered = true;
      this.updateContext(event);
    }
    if (event.kind === "unreadable") return this.unreadable(event);
    return this.steps.get(event.step)?.apply(event);
  }

  /** An unreadable line of the journal, at its position or else at the end. */
  unreadable(event) {
    const step = this.steps.get(event.step) ?? this.current;
    step?.partial === false ? step.apply(event) : this.addNote(event.text);
  }

  /** A message that belongs to no step. */
  addNote(text) {
    this.append(h("p", { class: "remark warn" }, text));
  }

  /** Update the length of the conversation. */
  updateContext({ usage, estimated }) {
    if (usage) this.context = { tokens: usage.prompt + usage.generated, estimated };
  }

  startStep(number_) {
    if (this.follow()) this.current?.collapse();
    this.current?.end();
    if (!this.steps.has(number_)) this.addStep(new Step(number_));
    if (this.linkedStep === number_) this.goToLink();
  }

  addStep(step) {
    this.steps.set(step.number, step);
    this.thread.style.setProperty("--digits", String(step.number).length);
    currentRun.step = step.number;
    this.current = step;
    this.batch(step.element);
    this.visibility.observe(step.element);
    this.watchGrowth(step.element);
  }

  watchGrowth(element) {
    this.growth.disconnect();
    this.growth.observe(element);
  }

  onVisibility(entries) {
    for (const { isIntersecting, target, boundingClientRect } of entries) {
      const step = this.steps.get(Number(target.id.slice(5)));
      if (!step) continue;
      step.nearby = isIntersecting;
      if (!isIntersecting) step.unload(boundingClientRect.height);
      else if (step.partial) setTimeout(() => step.nearby && this.load(step), LOAD_DELAY_MS);
    }
  }

  async load(step) {
    await step.load();
    this.follow();
    this.search.highlight(step.element);
  }

  expandAll(open) {
    expansion.open = open;
    for (const step of this.steps.values()) step.expand(open);
    this.follow();
  }

  /** Clicking a step's number puts the step into the URL. */
  onClick(event) {
    const { hash } = event.target.closest("a.step-number") ?? {};
    if (!hash || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (hash === location.hash) this.goToLink();
    else location.hash = hash; // a hashchange event follows
  }

  /** Go to the step in the URL, now or once it exists. */
  goToLink() {
    const number_ = Number(location.hash.match(/^#step-(\d+)$/)?.[1]);
    this.thread.querySelector(".step.linked")?.classList.remove("linked");
    this.linkedStep = number_ || null;
    if (!this.steps.has(number_)) return;
    this.linkedStep = null;
    this.steps.get(number_).element.classList.add("linked");
    this.goTo({ part: "step", step: number_ });
  }

  /** Scroll to a location of `find`; return its element once it is loaded. */
  async goTo({ part, step: number_, round }) {
    const step = part === "step" ? this.steps.get(number_) : null;
    const element = step?.element ?? (part === "asked" ? this.messages : this.roundEnds)[round - 1];
    if (!element) return null;
    this.follow(false);
    this.scrollPin.release();
    this.scrollTarget = element;
    if (step) await this.load(step);
    await scrollToElement(element, this.thread, () => this.scrollTarget === element);
    return element;
  }

  goToEnd() {
    this.scrollTarget = null;
    this.scrollPin.release();
    this.follow(true);
  }

  addMessage(text, inputs) {
    this.welcome?.remove();
    this.welcome = null;
    this.current?.end();
    this.roundEnd?.querySelector(".failure-actions")?.remove();
    removeResults();
    const chips = inputs.map((path) => {
      const attributes = { type: "button", class: "chip", title: "Open this file", onclick: () => emit("open-file", path) };
      return h("button", attributes, icon("file"), h("b", {}, decodePath(path).replace(/^input\//, "")));
    });
    const task = h("div", { class: "task" }, h("p", {}, text), chips.length ? h("div", {}, ...chips) : null);
    this.messages.push(task);
    linkFiles(task);
    this.append(task);
    this.stepsBefore = currentRun.step;
    this.answered = false; // whether the model produced any text in this round
    emit("message-sent", { text });
    this.goToEnd();
  }

  endRound({ status, reason, answer }) {
    if (this.follow()) this.current?.collapse();
    this.current?.end();
    const repeated = this.current?.hasText(answer);
    const succeeded = ["submitted", "answered"].includes(status);
    if (repeated && succeeded) this.current.element.classList.add("repeated");
    const displayedAnswer = succeeded || !repeated ? answer : "";
    this.roundEnd = createRoundEnd(status, reason, displayedAnswer, {
      onAnswer: (text) => linkFiles(text), onRetry: () => this.retry(), onSettings: openSettings,
    });
    this.roundEnds[this.messages.length - 1] = this.roundEnd;
    this.append(this.roundEnd);
    this.watchGrowth(this.roundEnd);
    const place = this.roundEnd.querySelector(".outputs");
    showResults(place, { since: this.stepsBefore, answered: Boolean(displayedAnswer) }).then(() => this.showEnding());
  }

  /** Continue after a failure: repeat the message if nothing came of it, else continue the conversation. */
  retry() {
    const text = this.answered ? "Continue." : this.messages.at(-1).querySelector("p").textContent;
    emit("send", { text, play: !currentRun.status.metered });
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
      this.lastBatch = h("div", { class: "batch" });
      this.status.before(this.lastBatch);
    }
    this.lastBatch.append(element);
  }

  update() {
    const { status } = currentRun;
    this.badge.hidden = status.metered || !currentRun.started;
    this.overview.hidden = !currentRun.started;
    const { steps } = currentRun.limits;
    showTotals(this.meter, steps ? this.stepsBefore + steps : 0, this.context);
    this.showStatus();
    this.tick();
    this.offerLatest();
    this.follow();
  }

  showStatus() {
    const { status } = currentRun;
    this.status.hidden = !status.running || !WAITING_STATES.has(status.state);
    this.status.dataset.tone = stateTone(status);
    const [text, bar, fill] = ["label", "progress", "progress i"].map((name) => this.status.querySelector(`.${name}`));
    text.textContent = stateLabel(status) + stateDetail(status);
    bar.hidden = status.state !== "preparing_image";
    bar.classList.toggle("indeterminate", status.progress === null || status.progress === undefined);
    fill.style.width = `${100 * (status.progress ?? 0)}%`;
  }

  tick() {
    const { status } = currentRun;
    if (!status?.running) return;
    const secondsLeft = (this.retryAt ?? 0) - currentRun.now();
    const time = status.state === "retrying" && secondsLeft > 0 ? `in ${Math.ceil(secondsLeft)} s` : formatClock(currentRun.now() - status.state_since);
    this.status.querySelector(".time").textContent = time;
    this.current?.tick();
  }

  offerLatest() {
    this.latest.hidden = this.follow.isFollowing() || !currentRun.running;
  }
}

function unreadableMessage(count) {
  const [events, note] = count === 1 ? ["1 event", "It is not lost."] : [`${formatNumber(count)} events`, "They are not lost."];
  return `This version cannot read ${events} in this run's log. ${note}`;
}

/** Details of a state beyond its label. */
function stateDetail({ state, detail }) {
  if (!detail || ["retrying", "waiting_model"].includes(state)) return "";
  if (state !== "queued") return `: ${detail}`;
  const reasonStart = detail.indexOf(";");
  return reasonStart < 0 ? ". It starts automatically." : `${detail.slice(reasonStart)}.`;
}

export function mountTimeline(element, props, watch) {
  new Timeline(element.querySelector(".timeline"));
  on("reset", () => (props.value = currentRun.id));
  watch("value", () => showRun(props.value || null));
  addEventListener("mounted", () => startEventStream(new URLSearchParams(location.search).get("run")), { once: true });
}
