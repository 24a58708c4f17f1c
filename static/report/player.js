// The player of a report: the slider over the steps, playback, and the files as of a step.

import { h, iconButton, setIcon } from "../core/dom.js";
import { formatClock } from "../core/format.js";
import { offsetsOf, PACES, paceNamed, PlaybackClock } from "../playback/clock.js";
import { Track } from "../playback/track.js";
import { endOfStep, momentsOf } from "./moments.js";
import { Typing } from "./typing.js";

const FAST = "4";
const STEP_HASH = /^#step-(\d{1,9})$/;

export class Player {
  /** `steps` are { step, from, seconds, used, failed }; the bar is drawn in `bar`. */
  constructor(bar, steps) {
    this.main = document.querySelector("main");
    this.steps = steps;
    this.items = [...document.querySelectorAll(".thread > :is(.round, .step, .round-end)")].map((element) => readItem(element, steps));
    this.moments = momentsOf(this.items);
    this.versions = [...document.querySelectorAll(".version")].map(readVersion);
    this.asOf = document.querySelector(".as-of");
    this.item = null; // the item of the moment shown
    this.typing = null;
    this.shownStep = null; // null: the whole run
    this.setPace(paceNamed(FAST));
    this.draw(bar);
    document.addEventListener("keydown", (event) => this.onKey(event));
    addEventListener("hashchange", () => this.followHash());
    addEventListener("beforeprint", () => this.showAll());
    this.showAll();
    this.followHash();
  }

  draw(bar) {
    const button = (name, label, onclick, keys, kind = "") =>
      iconButton(name, label, onclick, { class: kind, title: `${label} (${keys})`, "aria-keyshortcuts": keys });
    this.playButton = button("play", "Play", () => this.toggle(), "Space", "play");
    const before = button("caret", "Previous step", () => this.move(-1), "[", "previous");
    before.firstChild.setAttribute("transform", "scale(-1 1)");
    const next = button("caret", "Next step", () => this.move(1), "]");
    const options = PACES.map(({ name, label }) => h("option", { value: name, selected: name === FAST }, label));
    const pace = h("select", { "aria-label": "Speed" }, ...options);
    pace.addEventListener("change", () => this.setPace(paceNamed(pace.value)));
    this.all = h("button", { class: "all", title: "Show the whole run (End)", hidden: true, onclick: () => this.showAll() }, "Whole run");
    this.track = new Track({ onMove: (step) => this.goTo(step) });
    this.track.setSteps(this.steps);
    this.time = h("span", { class: "time num" });
    const side = h("span", { class: "buttons" }, this.all, this.time);
    bar.append(h("div", { class: "buttons" }, before, this.playButton, next, pace), this.track.element, side);
    bar.setAttribute("role", "region");
    bar.setAttribute("aria-label", "Player");
    bar.hidden = false;
  }

  setPace(pace) {
    const now = performance.now();
    if (this.clock) this.clock.setPace(pace, now);
    else {
      this.times = this.moments.map(({ time }) => time);
      this.clock = new PlaybackClock(this.times, pace);
    }
    this.offsets = offsetsOf(this.times, pace.longestPause);
    if (this.time) this.showTime(now);
  }

  get playing() {
    return this.clock.running;
  }

  toggle() {
    this.playing ? this.pause() : this.play();
  }

  play() {
    const now = performance.now();
    if (this.shownStep === null || this.clock.isOver(now)) this.clock.seek(0, now);
    this.clock.start(now);
    this.main.dataset.mode = "playing";
    this.showButton("pause", "Pause");
    this.all.hidden = false;
    this.item = null;
    this.frame();
  }

  /** Show what is due, and wait for the next frame. */
  frame() {
    if (!this.playing) return;
    const now = performance.now();
    this.showMoment(this.clock.index(now), this.clock.position(now));
    this.showTime(now);
    if (this.clock.isOver(now)) return void this.showAll();
    requestAnimationFrame(() => this.frame());
  }

  pause() {
    this.stop();
    this.goTo(Math.max(1, this.shownStep ?? this.steps.length), { seek: false });
  }

  stop() {
    this.clock.stop(performance.now());
    this.endTyping();
    this.showButton("play", "Play");
  }

  /** Show the run as of the end of a step. */
  goTo(step, { seek = true } = {}) {
    const to = Math.max(1, Math.min(this.steps.length, step));
    if (this.playing) this.stop();
    const at = endOfStep(this.moments, this.items, to);
    if (seek) this.clock.seek(at, performance.now());
    this.main.dataset.mode = "moment";
    this.all.hidden = false;
    for (const item of this.items)
      this.mark(item, item.step > to || (item.isEnd && item.step === to && to < this.steps.length), item.step === to && item.isStep);
    this.setStep(to);
    this.showTime(performance.now());
    document.getElementById(`step-${to}`)?.scrollIntoView({ block: "nearest" });
  }

  /** Show the whole run. */
  showAll() {
    if (this.playing) this.stop();
    delete this.main.dataset.mode;
    for (const item of this.items) this.mark(item, false, false);
    for (const { element } of this.versions) element.classList.remove("now");
    for (const { file } of this.versions) file.hidden = false;
    this.asOf.textContent = "";
    this.shownStep = null;
    this.all.hidden = true;
    this.track.show(this.steps.length);
    this.clock.seek(this.moments.length - 1, performance.now());
    this.showTime(performance.now());
  }

  move(by) {
    const from = this.shownStep ?? this.steps.length + (by < 0 ? 0 : 1);
    if (from + by > this.steps.length) this.showAll();
    else this.goTo(from + by);
  }

  mark({ element, parts }, later, now) {
    element.classList.toggle("later", later);
    element.classList.toggle("now", now);
    element.classList.remove("writing");
    for (const part of parts) part.element.classList.remove("later");
  }

  /** Show the moment with this index; `position` is the seconds of the playback. */
  showMoment(index, position) {
    const moment = this.moments[Math.max(0, index)];
    const item = this.items[moment.item];
    if (item !== this.item) this.enter(item, moment.item);
    item.parts.forEach((part, at) => part.element.classList.toggle("later", at >= moment.parts));
    item.element.classList.toggle("writing", moment.typing !== null || moment.parts < item.parts.length);
    if (moment.typing === null) this.endTyping();
    else this.type(item.parts[moment.typing].element, index, position);
    if (item.isStep) {
      this.setStep(item.step, false);
      const { from, seconds } = this.steps[item.step - 1];
      const share = seconds > 0 ? (moment.time - from) / seconds : 1;
      this.track.show(item.step, Math.max(0, Math.min(1, share)));
    }
    const { bottom } = (this.typing?.element ?? item.element).getBoundingClientRect();
    if (bottom > innerHeight - 96) scrollBy(0, bottom - innerHeight + 110);
  }

  /** Begin an item of the conversation: those before it are complete, those after it hidden. */
  enter(item, at) {
    this.endTyping();
    this.items.forEach((each, index) => this.mark(each, index > at, each === item && item.isStep));
    this.item = item;
  }

  type(element, index, position) {
    if (this.typing?.element !== element) {
      this.endTyping();
      this.typing = { element, text: new Typing(element) };
    }
    const [from, to] = [this.offsets[index], this.offsets[index + 1] ?? this.offsets[index]];
    this.typing.text.show(to > from ? (position - from) / (to - from) : 1);
  }

  endTyping() {
    this.typing?.text.show(1);
    this.typing = null;
  }

  /** Show the step on the track, and the files as they were after it. */
  setStep(step, complete = true) {
    if (complete) this.track.show(step);
    const files = complete ? step : step - 1;
    if (this.shownStep === step && this.shownFiles === files) return;
    this.shownStep = step;
    this.shownFiles = files;
    this.asOf.textContent = files ? `as of step ${files}` : "before the first step";
    const shown = new Set();
    for (const { element, since, until, file } of this.versions) {
      const now = since <= files && files < until;
      element.classList.toggle("now", now);
      if (now) shown.add(file);
    }
    for (const { file } of this.versions) file.hidden = !shown.has(file);
  }

  showTime(now) {
    this.time.textContent = `${formatClock(this.clock.position(now))} / ${formatClock(this.clock.duration)}`;
  }

  showButton(name, label) {
    setIcon(this.playButton, name, label);
    this.playButton.title = `${label} (Space)`;
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inControl = event.target.closest?.("button, select, summary, a, audio, video, input");
    const actions = { "[": () => this.move(-1), "]": () => this.move(1), Home: () => this.goTo(1), End: () => this.showAll(), " ": () => this.toggle() };
    if (!Object.hasOwn(actions, event.key) || (event.key === " " && inControl)) return;
    event.preventDefault();
    actions[event.key]();
  }

  followHash() {
    const step = Number(STEP_HASH.exec(location.hash)?.[1] ?? 0);
    if (step >= 1 && step <= this.steps.length) this.goTo(step);
  }
}

function readItem(element, steps) {
  const step = Number(element.dataset.step);
  const parts = [...element.querySelectorAll(".part")].map((part) => ({
    element: part,
    from: Number(part.dataset.from),
    to: Number(part.dataset.to),
    typed: "typed" in part.dataset,
  }));
  const isStep = element.matches(".step");
  const from = element.dataset.from ?? steps[Math.min(step, steps.length) - 1]?.from ?? 0;
  return { element, step, parts, from: Number(from), isStep, isEnd: element.matches(".round-end") };
}

function readVersion(element) {
  const { since, until } = element.dataset;
  return { element, since: Number(since), until: until === undefined ? Infinity : Number(until), file: element.closest("details.file") };
}
