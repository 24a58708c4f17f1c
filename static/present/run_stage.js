// A run on stage: the step in play always in view, beside it what it made; at the end the result.

import { h, waitForElement } from "../core/dom.js";
import { currentRun, emit, on } from "../core/event_stream.js";
import { fileKind, formatCount, formatElapsed, formatNumber, formatSeconds, plural } from "../core/format.js";
import { StepChanges } from "../tree/step_changes.js";
import { isPresenting } from "./presenting.js";

const root = document.documentElement;
const isOnStage = () => isPresenting() && currentRun.started; // and not a comparison

export class RunStage {
  #step = null; // the `Step` in play; null at the end
  #result = ""; // what the preview was asked to show
  #shown = ""; // "step" or "end"; empty while nothing is presented

  /** `timeline` is that of the page, with its `scrubber`. */
  constructor(timeline) {
    this.timeline = timeline;
    this.changes = new StepChanges(currentRun);
    this.live = h("b", { class: "live-badge num", hidden: true });
    this.figures = h("span", { class: "stage-figures num", role: "status" });
    waitForElement(".app-header .title").then((title) => title.after(this.live, this.figures));
    this.size = new ResizeObserver(() => this.#keepInView());
    for (const name of ["presenting", "update", "moment"]) on(name, () => this.show());
    on("tick", () => isOnStage() && this.#showFigures());
    on("stage", (action) => this.#act(action));
  }

  /** Show what is in play: the step of the moment, the last one of a run that works, or the end. */
  show() {
    const step = isOnStage() ? this.#inPlay() : null;
    if (isOnStage()) root.dataset.stage = step || currentRun.running ? "step" : "end";
    const before = this.#shown;
    this.#shown = isOnStage() ? root.dataset.stage : "";
    if (step !== this.#step) this.#enter(step);
    if (!isOnStage()) return void (this.#result = "");
    if (this.#shown === "end" && before !== "end") this.#showEnd();
    this.#showFigures();
    if (step) this.#showResult(step.number);
    this.#keepInView();
  }

  #inPlay() {
    const { steps, current } = this.timeline;
    if (currentRun.moment) return steps.get(currentRun.moment.step) ?? null;
    return currentRun.running ? current : null;
  }

  #enter(step) {
    this.#step?.element.classList.remove("onstage");
    this.size.disconnect();
    this.#step = step;
    if (!step) return;
    step.element.classList.add("onstage");
    this.size.observe(step.element);
    this.timeline.load(step);
  }

  /** Show the end from its beginning: the answer. */
  #showEnd() {
    const { follow, scrollPin, thread } = this.timeline;
    follow(false); // the results grow below
    scrollPin.release();
    thread.scrollTop = 0;
  }

  /** Show the end of the step in play; of one that is over and does not fit, its start. */
  #keepInView() {
    if (!this.#step) return;
    const { thread, scrollPin, scrubber } = this.timeline;
    const { element } = this.#step;
    const goesOn = currentRun.moment === null || scrubber.player.playing || currentRun.moment.event !== null;
    const fits = element.getBoundingClientRect().height < thread.getBoundingClientRect().height;
    scrollPin.release();
    element.scrollIntoView({ block: fits || goesOn ? "end" : "start" });
  }

  /** Show the file that shows best what has been made until now; a file of text that has changed with its changes. */
  #showResult(step) {
    const isPast = currentRun.moment !== null;
    const file = this.changes.until(isPast ? currentRun.pastStep : step);
    const key = file ? `${file.path} ${file.step} ${isPast}` : "";
    if (!file || key === this.#result) return;
    this.#result = key;
    const { path, kind } = file;
    if (!isPast) emit("open-file", path);
    else emit("open-version", { path, step: file.step, compared: kind === "changed" && ["code", "file"].includes(fileKind(path)) });
  }

  #showFigures() {
    const { moment, running, status, step } = currentRun;
    const { figures } = this.timeline.scrubber;
    const totals = moment ? figures.totalsUntil(moment.step) : status.totals;
    const tokens = totals.prompt_tokens + totals.generated_tokens;
    const parts = [
      moment || running ? `step ${formatNumber(moment?.step ?? step)}${running ? "" : ` of ${formatNumber(figures.count)}`}` : plural(step, "step"),
      tokens ? `${formatCount(tokens)} tokens` : "",
      totals.sandbox_seconds >= 0.05 ? `${formatSeconds(totals.sandbox_seconds)} in the sandbox` : "",
    ];
    const text = parts.filter(Boolean).join(" · ");
    if (this.figures.textContent !== text) this.figures.textContent = text;
    this.live.hidden = !running || moment !== null;
    this.live.textContent = `LIVE ${formatElapsed(currentRun.now() - (figures.of(1)?.began ?? currentRun.now()))}`;
  }

  #act(action) {
    const { scrubber } = this.timeline;
    if (action === "play") return scrubber.player.playing ? scrubber.player.pause() : scrubber.player.play();
    if (currentRun.moment) return scrubber.move(action === "next" ? 1 : -1);
    return action === "previous" ? scrubber.goTo(scrubber.count) : undefined;
  }
}
