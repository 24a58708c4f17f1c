// A run on stage: the step in play always in view, beside it what it made; at the end the result.

import { h, waitForElement } from "../core/dom.js";
import { currentRun, emit, on } from "../core/event_stream.js";
import { source } from "../core/loading/source.js";
import { fileKind, formatCount, formatElapsed, formatNumber, formatSeconds, plural } from "../core/format.js";
import { bestOf, StepChanges } from "../tree/step_changes.js";
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
    const [before, played] = [this.#shown, this.#step];
    this.#shown = isOnStage() ? root.dataset.stage : "";
    if (step !== this.#step) this.#enter(step);
    if (!isOnStage()) {
      this.#result = "";
      return before && currentRun.started ? this.#leave(played) : undefined;
    }
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
    const { follow, thread } = this.timeline;
    follow(false); // the results grow below
    this.timeline.stay();
    thread.scrollTop = 0;
  }

  /** Show at the desk what was in play: the step, the end of a run that goes on, or the answer. */
  #leave(step) {
    const { timeline } = this;
    const goesOn = timeline.scrubber.player.playing || (currentRun.running && !currentRun.moment);
    if (goesOn) timeline.goToEnd();
    else timeline.goTo(step ? { part: "step", step: step.number } : { part: "answer", round: timeline.roundEnds.length });
  }

  /** Show the end of the step in play; of one that is over and does not fit, its start. */
  #keepInView() {
    if (!this.#step) return;
    const { thread, scrubber } = this.timeline;
    const { element } = this.#step;
    const goesOn = currentRun.moment === null || scrubber.player.playing || currentRun.moment.event !== null;
    const fits = element.getBoundingClientRect().height < thread.getBoundingClientRect().height;
    this.timeline.stay(); // the desk may still scroll to what was in play
    element.scrollIntoView({ block: fits || goesOn ? "end" : "start" });
  }

  /** Show the file that shows best what has been made until now, or was given; a text that has changed with its changes. */
  #showResult(step) {
    const isPast = currentRun.moment !== null;
    const file = this.changes.until(isPast ? currentRun.pastStep : step) ?? given();
    const key = file ? `${file.path} ${file.step} ${isPast}` : "none";
    if (key === this.#result) return;
    this.#result = key;
    emit("stage-file", file && { path: file.path, step: isPast ? file.step : null, compared: isPast && showsChanges(file) });
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

/** The file that shows best what the task was given, as it was then; null if there is none. */
function given() {
  const path = bestOf(currentRun.inputs.map((each) => ({ path: `input/${each}` })))?.path;
  return path ? { path, step: 0, kind: "added" } : null;
}

/** Whether a changed file is shown with its changes: a text is, and a report compares no versions. */
const showsChanges = ({ path, kind }) => kind === "changed" && ["code", "file"].includes(fileKind(path)) && !source.bundled;
