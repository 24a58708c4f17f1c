// The thread of a run: user messages, steps and the end of each round.

import { bring, followEnd, h, icon } from "../core/dom.js";
import { ending } from "./round_end.js";
import { Find } from "./find.js";
import { clock, number, shownPath } from "../core/format.js";
import { showTotals } from "./totals.js";
import { link } from "../core/file_links.js";
import { Pin } from "./pin_scroll.js";
import { leaveResults, showResults } from "../results/results.js";
import { attach, begin, emit, on, session } from "../core/session.js";
import { tone, words } from "../core/run_states.js";
import { Step, folding } from "./step.js";
import { mountTools } from "./export_menu.js";
import { openSettings, welcome } from "../composer/welcome.js";

const WAITING = new Set(["queued", "preparing_image", "starting_sandbox", "waiting_model", "retrying"]);
const NEAR = "1000px"; // from the viewport: nearer steps are fully loaded, others have only the head
const BATCH = 25; // steps whose layout the browser skips together
const PASSING = 60; // ms; steps that are only scrolled past are not loaded

class Timeline {
  constructor(root) {
    this.thread = root.querySelector(".thread");
    this.overview = root.querySelector(".overview");
    this.meter = root.querySelector(".meter");
    this.badge = root.querySelector(".badge");
    this.latest = root.querySelector(".latest");
    this.follow = followEnd(this.thread, () => this.offerLatest());
    this.latest.addEventListener("click", () => this.goToEnd());
    this.near = new IntersectionObserver((seen) => this.approach(seen), { root: this.thread, rootMargin: `${NEAR} 0px` });
    // New content gets its size when first rendered, and an answer during layout.
    this.grown = new ResizeObserver(() => this.follow());
    this.pin = new Pin(this.thread);
    this.find = new Find(root.querySelector(".find"), this.thread, (place) => this.goTo(place));
    this.tools = mountTools(root.querySelector(".run-tools"), { unfold: (open) => this.unfold(open), find: () => this.find.open() });
    addEventListener("hashchange", () => this.goToLink());
    this.thread.addEventListener("click", (event) => this.link(event));
    on("reset", () => this.reset());
    on("picture", (picture) => this.picture(picture));
    on("events", (events) => this.events(events));
    on("head", () => this.settle());
    on("tick", () => this.tick());
    on("linked", (element) => this.find.mark(element));
    this.reset();
  }

  reset() {
    this.near.disconnect();
    this.pin.release();
    for (const step of this.steps?.values() ?? []) step.near = false; // cancel pending loads
    this.steps = new Map();
    this.asked = [];
    this.endings = [];
    this.current = this.ending = this.context = this.wanted = this.last = null;
    this.before = 0;
    this.status = h("div", { class: "status", hidden: true },
      h("span", { class: "dot" }), h("span", { class: "words" }), h("span", { class: "time num" }),
      h("div", { class: "progress", hidden: true }, h("i")));
    this.thread.replaceChildren(this.status);
    this.overview.hidden = this.badge.hidden = this.latest.hidden = true;
    this.find.close();
    this.tools.reset();
    if (!session.run) this.greet();
  }

  greet() {
    this.greeting = welcome();
    this.thread.prepend(this.greeting);
  }

  picture(picture) {
    this.reset();
    if (!picture.rounds.length) return this.greet();
    const steps = Map.groupBy(picture.steps, (step) => step.round);
    picture.rounds.forEach((round, index) => {
      this.ask(round.text, index ? [] : picture.inputs);
      for (const head of steps.get(index + 1) ?? []) this.restore(head);
      if (round.status) this.end(round);
    });
    if (picture.unreadable) this.remark(damaged(picture.unreadable));
    this.follow(true);
    return this.goToLink();
  }

  restore(head) {
    this.add(Step.of(head));
    this.answered ||= Boolean(head.text || head.thought || head.calls.length);
    this.notice(head);
    emit("changed", { step: head.step, changes: head.changes });
  }

  events(events) {
    for (const event of events) this.apply(event);
  }

  apply(event) {
    if (event.kind === "run_started") return this.ask(event.task, event.inputs);
    if (event.kind === "run_continued") return this.ask(event.text, []);
    if (event.kind === "run_ended") return this.end(event);
    if (event.kind === "step_started") return this.begin(event.step);
    if (event.kind === "workspace_changed") emit("changed", event);
    if (event.kind === "retrying") this.retryAt = event.at + event.wait;
    if (event.kind === "model_answered") {
      this.answered = true;
      this.notice(event);
    }
    if (event.kind === "unreadable") return this.unreadable(event);
    return this.steps.get(event.step)?.apply(event);
  }

  /** An unreadable line of the journal, at its position or else at the end. */
  unreadable(event) {
    const step = this.steps.get(event.step) ?? this.current;
    step?.partial === false ? step.apply(event) : this.remark(event.text);
  }

  /** A message that belongs to no step. */
  remark(text) {
    this.put(h("p", { class: "remark warn" }, text));
  }

  /** Update the length of the conversation. */
  notice({ usage, estimated }) {
    if (usage) this.context = { tokens: usage.prompt + usage.generated, estimated };
  }

  begin(number_) {
    if (this.follow()) this.current?.rest();
    this.current?.end();
    if (!this.steps.has(number_)) this.add(new Step(number_));
    if (this.wanted === number_) this.goToLink();
  }

  add(step) {
    this.steps.set(step.number, step);
    this.thread.style.setProperty("--digits", String(step.number).length);
    session.step = step.number;
    this.current = step;
    this.batch(step.element);
    this.near.observe(step.element);
    this.watchGrowth(step.element);
  }

  watchGrowth(element) {
    this.grown.disconnect();
    this.grown.observe(element);
  }

  approach(seen) {
    for (const { isIntersecting, target, boundingClientRect } of seen) {
      const step = this.steps.get(Number(target.id.slice(5)));
      if (!step) continue;
      step.near = isIntersecting;
      if (!isIntersecting) step.unload(boundingClientRect.height);
      else if (step.partial) setTimeout(() => step.near && this.load(step), PASSING);
    }
  }

  async load(step) {
    await step.load();
    this.follow();
    this.find.mark(step.element);
  }

  unfold(open) {
    folding.open = open;
    for (const step of this.steps.values()) step.unfold(open);
    this.follow();
  }

  /** Clicking a step's number puts the step into the URL. */
  link(event) {
    const { hash } = event.target.closest("a.no") ?? {};
    if (!hash || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (hash === location.hash) this.goToLink();
    else location.hash = hash; // a hashchange event follows
  }

  /** Go to the step in the URL, now or once it exists. */
  goToLink() {
    const number_ = Number(location.hash.match(/^#step-(\d+)$/)?.[1]);
    this.thread.querySelector(".step.linked")?.classList.remove("linked");
    this.wanted = number_ || null;
    if (!this.steps.has(number_)) return;
    this.wanted = null;
    this.steps.get(number_).element.classList.add("linked");
    this.goTo({ part: "step", step: number_ });
  }

  /** Scroll to a location of `find`; return its element once it is loaded. */
  async goTo({ part, step: number_, round }) {
    const step = part === "step" ? this.steps.get(number_) : null;
    const element = step?.element ?? (part === "asked" ? this.asked : this.endings)[round - 1];
    if (!element) return null;
    this.follow(false);
    this.pin.release();
    this.aim = element;
    if (step) await this.load(step);
    await bring(element, this.thread, () => this.aim === element);
    return element;
  }

  goToEnd() {
    this.aim = null;
    this.pin.release();
    this.follow(true);
  }

  ask(text, inputs) {
    this.greeting?.remove();
    this.greeting = null;
    this.current?.end();
    this.ending?.querySelector(".deeds")?.remove();
    leaveResults();
    const chips = inputs.map((path) => {
      const look = { type: "button", class: "chip", title: "Open this file", onclick: () => emit("look", path) };
      return h("button", look, icon("file"), h("b", {}, shownPath(path).replace(/^input\//, "")));
    });
    const task = h("div", { class: "task" }, h("p", {}, text), chips.length ? h("div", {}, ...chips) : null);
    this.asked.push(task);
    link(task);
    this.put(task);
    this.before = session.step;
    this.answered = false; // whether the model produced any text in this round
    emit("asked", { text });
    this.goToEnd();
  }

  end({ status, reason, answer }) {
    if (this.follow()) this.current?.rest();
    this.current?.end();
    const repeated = this.current?.saidLast(answer);
    const wanted = ["submitted", "answered"].includes(status);
    if (repeated && wanted) this.current.element.classList.add("said-below");
    const shown = wanted || !repeated ? answer : "";
    this.ending = ending(status, reason, shown, {
      onAnswer: (text) => link(text), onRetry: () => this.retry(), onSettings: openSettings,
    });
    this.endings[this.asked.length - 1] = this.ending;
    this.put(this.ending);
    this.watchGrowth(this.ending);
    const place = this.ending.querySelector(".outputs");
    showResults(place, { since: this.before, answered: Boolean(shown) }).then(() => this.showEnding());
  }

  /** Continue after a failure: repeat the message if nothing came of it, else continue the conversation. */
  retry() {
    const text = this.answered ? "Continue." : this.asked.at(-1).querySelector("p").textContent;
    emit("send", { text, play: !session.head.metered });
  }

  /** Show the end of the thread; if it does not fit, the start of the ending. */
  showEnding() {
    if (!this.follow() || !this.ending) return;
    const hidden = this.thread.getBoundingClientRect().top - this.ending.getBoundingClientRect().top;
    if (hidden <= 0) return;
    this.follow(false); // growth below is not read first
    this.pin.hold(this.ending);
  }

  put(element) {
    this.status.before(element);
    this.last = null; // later steps get a new batch
  }

  /** Group steps in batches, so that the browser skips layout per batch instead of per step. */
  batch(element) {
    if (!this.last || this.last.childElementCount >= BATCH) {
      this.last = h("div", { class: "batch" });
      this.status.before(this.last);
    }
    this.last.append(element);
  }

  settle() {
    const { head } = session;
    this.badge.hidden = head.metered || !session.begun;
    this.overview.hidden = !session.begun;
    const { steps } = session.limits;
    showTotals(this.meter, steps ? this.before + steps : 0, this.context);
    this.showStatus();
    this.tick();
    this.offerLatest();
    this.follow();
  }

  showStatus() {
    const { head } = session;
    this.status.hidden = !head.alive || !WAITING.has(head.state);
    this.status.dataset.tone = tone(head);
    const [text, bar, fill] = ["words", "progress", "progress i"].map((name) => this.status.querySelector(`.${name}`));
    text.textContent = words(head) + detailOf(head);
    bar.hidden = head.state !== "preparing_image";
    bar.classList.toggle("unsure", head.progress === null || head.progress === undefined);
    fill.style.width = `${100 * (head.progress ?? 0)}%`;
  }

  tick() {
    const { head } = session;
    if (!head?.alive) return;
    const left = (this.retryAt ?? 0) - session.now();
    const time = head.state === "retrying" && left > 0 ? `in ${Math.ceil(left)} s` : clock(session.now() - head.since);
    this.status.querySelector(".time").textContent = time;
    this.current?.tick();
  }

  offerLatest() {
    this.latest.hidden = this.follow.here() || !session.alive;
  }
}

function damaged(count) {
  const [what, kept] = count === 1 ? ["1 event", "It is not lost."] : [`${number(count)} events`, "They are not lost."];
  return `This version cannot read ${what} in this run's log. ${kept}`;
}

/** Details of a state beyond its label. */
function detailOf({ state, detail }) {
  if (!detail || ["retrying", "waiting_model"].includes(state)) return "";
  if (state !== "queued") return `: ${detail}`;
  const why = detail.indexOf(";");
  return why < 0 ? ". It starts automatically." : `${detail.slice(why)}.`;
}

export function mountTimeline(element, props, watch) {
  new Timeline(element.querySelector(".timeline"));
  on("reset", () => (props.value = session.run));
  watch("value", () => attach(props.value || null));
  addEventListener("mounted", () => begin(new URLSearchParams(location.search).get("run")), { once: true });
}
