// The timeline of the run that the page shows: its thread, totals, tools, search and links to steps.

import { isModified } from "../core/dom.js";
import { editMessageButton } from "../fork/actions.js";
import { RunStrip } from "../capabilities/run_strip.js";
import { Scrubber } from "../playback/scrubber.js";
import { MomentView } from "../playback/moment_view.js";
import { RunSearch } from "./find.js";
import { RunThread } from "./thread.js";
import { showTotals } from "../core/run/totals.js";
import { showRun, startEventStream, emit, on, currentRun } from "../core/event_stream.js";
import { ReplayBanner } from "../replay/banner.js";
import { mountRunTools } from "./export_menu.js";
import { mountOrigin } from "../core/run/origin.js";
import { mountApproval } from "../steering/approval.js";
import { mountObservationEdits } from "../steering/observation.js";
import { MessageQueue } from "../steering/queue.js";

class Timeline extends RunThread {
  /** `createWelcome` returns what is shown while there is no run. */
  constructor(root, createWelcome) {
    super(currentRun, root.querySelector(".thread"), { anchored: true });
    this.createWelcome = createWelcome;
    /** @type {WeakMap<Element, number>} the steps before a message or the end of a round */
    this.stepsUntil = new WeakMap();
    this.overview = root.querySelector(".overview");
    mountOrigin(root.querySelector(".origin"), currentRun);
    this.meter = root.querySelector(".meter");
    this.badge = root.querySelector(".badge");
    this.replay = new ReplayBanner(this.badge);
    this.strip = new RunStrip(root.querySelector(".run-capabilities"), (number) => this.goTo({ part: "step", step: number }));
    this.latest = root.querySelector(".latest");
    this.latest.addEventListener("click", () => this.goToEnd());
    this.search = new RunSearch(currentRun, root.querySelector(".find"), this.thread, (place) => this.goTo(place));
    this.tools = mountRunTools(root.querySelector(".run-tools"), { onExpand: (open) => this.expandAll(open), onFind: () => this.search.open() });
    this.moments = new MomentView(this);
    this.scrubber = new Scrubber(this);
    on("moment", (moment) => this.moments.show(moment));
    addEventListener("hashchange", () => this.goToLink());
    this.thread.addEventListener("click", (event) => this.onClick(event));
    on("find", (text) => this.find(text));
    on("files-linked", (element) => this.search.highlight(element));
    this.queue = new MessageQueue(currentRun);
    mountApproval(currentRun);
    mountObservationEdits(currentRun);
    this.reset();
  }

  reset() {
    super.reset();
    if (this.queue) this.thread.append(this.queue.element);
    this.moments?.reset();
    this.linkedStep = this.wantedText = null;
    this.overview.hidden = this.badge.hidden = this.latest.hidden = true;
    this.strip.reset();
    this.search.close();
    this.tools.reset();
    if (!currentRun.id) this.showWelcome();
  }

  showWelcome() {
    this.welcome = this.createWelcome();
    this.thread.prepend(this.welcome);
  }

  /** Search the run for a text, now or once it is loaded. */
  find(text) {
    if (this.messages.length) this.search.open(text);
    else this.wantedText = text;
  }

  showState(state) {
    const text = this.wantedText;
    if (state.rounds.length) {
      super.showState(state);
      this.scrubber.load(state);
      return text ? this.find(text) : this.goToLink();
    }
    this.reset();
    return this.showWelcome();
  }

  startStep(number_) {
    super.startStep(number_);
    if (this.linkedStep === number_) this.goToLink();
  }

  addStep(step) {
    super.addStep(step);
    this.moments.onStep(step);
  }

  endRound(event) {
    super.endRound(event);
    this.stepsUntil.set(this.roundEnd, currentRun.step);
    this.moments.onRound();
  }

  showUsed(step) {
    this.strip.update(step.number, step.used);
  }

  async load(step) {
    await super.load(step);
    this.search.highlight(step.element);
  }

  addMessage(text, inputs) {
    this.lastMessage = text ?? "";
    this.welcome?.remove();
    this.welcome = null;
    super.addMessage(text, inputs);
    this.stepsUntil.set(this.messages.at(-1), this.stepsBefore);
    this.moments.onRound();
  }

  /** Clicking a step's number, or a link to it, puts the step into the URL. */
  onClick(event) {
    const { hash } = event.target.closest("a:is(.step-number, .step-link)") ?? {};
    if (!hash || isModified(event)) return;
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
    if (!this.scrubber.goTo(number_)) this.goTo({ part: "step", step: number_ });
  }

  messageActions(text, before) {
    return editMessageButton(currentRun, text, before);
  }

  failureActions() {
    return { onRetry: () => this.retry(), onSettings: () => emit("open-settings") };
  }

  /** Continue after a failure: repeat the message if nothing came of it, else continue the conversation. */
  retry() {
    const text = this.answered ? "Continue." : this.lastMessage;
    emit("send", { text, resume: !text, play: !currentRun.status.metered });
  }

  update() {
    const { status } = currentRun;
    this.badge.hidden = status.metered || !currentRun.started || Boolean(status.replay);
    this.replay.update();
    this.overview.hidden = !currentRun.started;
    const { steps } = currentRun.limits;
    if (currentRun.moment) this.moments.showTotals();
    else showTotals(this.meter, currentRun, steps ? this.stepsBefore + steps : 0, this.context);
    super.update();
  }

  offerLatest() {
    this.latest.hidden = this.follow.isFollowing() || !currentRun.running || currentRun.moment !== null;
  }
}

export function mountTimeline(createWelcome, element, props, watch) {
  new Timeline(element.querySelector(".timeline"), createWelcome);
  on("reset", () => (props.value = currentRun.id));
  watch("value", () => showRun(props.value || null));
  addEventListener("mounted", () => startEventStream(new URLSearchParams(location.search).get("run")), { once: true });
}
