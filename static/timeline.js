// The thread of a run: what the person asked, the steps, how each round ended.

import { copy, followEnd, h, icon, picture } from "./dom.js";
import { bytes, clock, count, kindOf, number, plural, seconds, shownPath } from "./format.js";
import { render } from "./markdown.js";
import { ask, attach, emit, on, runApi, session } from "./session.js";
import { sequel, tone, words } from "./states.js";
import { Step } from "./step.js";
import { welcome } from "./welcome.js";

const WAITING = new Set(["preparing_image", "starting_sandbox", "waiting_model", "retrying"]);

class Timeline {
  constructor(root) {
    this.thread = root.querySelector(".thread");
    this.meter = root.querySelector(".meter");
    this.badge = root.querySelector(".badge");
    this.latest = root.querySelector(".latest");
    this.follow = followEnd(this.thread, (following) => this.offerLatest(following));
    this.latest.addEventListener("click", () => this.follow(true));
    this.near = new IntersectionObserver((seen) => this.approach(seen), {
      root: this.thread, rootMargin: "600px",
    });
    on("reset", () => this.reset());
    on("picture", (picture) => this.picture(picture));
    on("events", (events) => this.events(events));
    on("head", () => this.settle());
    on("tick", () => this.tick());
    this.reset();
  }

  reset() {
    this.near.disconnect();
    this.steps = new Map();
    this.current = this.ending = null;
    this.rounds = this.before = 0;
    this.status = h("div", { class: "status", hidden: true },
      h("span", { class: "dot" }), h("span", { class: "words" }), h("span", { class: "time num" }),
      h("div", { class: "progress", hidden: true }, h("i")));
    this.thread.replaceChildren(this.status);
    this.meter.hidden = this.badge.hidden = this.latest.hidden = true;
    if (!session.run) this.greet();
  }

  greet() {
    this.greeting = welcome();
    this.thread.prepend(this.greeting);
  }

  picture(picture) {
    this.reset();
    if (!picture.rounds.length) return this.greet();
    picture.rounds.forEach((round, index) => {
      this.ask(round.text, index ? [] : picture.inputs);
      for (const head of picture.steps.filter((step) => step.round === index + 1)) {
        this.add(Step.of(head), true);
        emit("changed", { step: head.step, changes: head.changes });
      }
      if (round.status) this.end(round);
    });
    return this.follow(true);
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
    return this.steps.get(event.step)?.apply(event);
  }

  begin(number_) {
    if (this.follow()) this.current?.rest();
    if (!this.steps.has(number_)) this.add(new Step(number_), false);
  }

  add(step, partial) {
    this.steps.set(step.number, step);
    session.step = step.number;
    this.current = step;
    this.put(step.element);
    if (partial) this.near.observe(step.element);
  }

  approach(seen) {
    for (const { isIntersecting, target } of seen) {
      if (!isIntersecting) continue;
      this.near.unobserve(target);
      this.steps.get(Number(target.id.slice(5)))?.load().then(() => this.follow());
    }
  }

  ask(text, inputs) {
    this.greeting?.remove();
    this.greeting = null;
    this.rounds++;
    this.ending?.querySelector(".outputs")?.remove();
    const chips = inputs.map((path) => h("span", { class: "chip" }, icon("file"), h("b", {}, shownPath(path).replace(/^input\//, ""))));
    this.put(h("div", { class: "task" }, h("p", {}, text), chips.length ? h("div", {}, ...chips) : null));
    this.before = session.step;
    emit("asked", { text, first: this.rounds === 1 });
    this.follow(true);
  }

  end({ status, reason, answer }) {
    if (this.follow()) this.current?.rest();
    const repeated = this.current?.saidLast(answer);
    const wanted = ["submitted", "answered"].includes(status);
    if (repeated && wanted) this.current.element.classList.add("said-below");
    this.ending = ending(status, reason, wanted || !repeated ? answer : "");
    this.put(this.ending);
    showOutputs(this.ending.querySelector(".outputs")).then(() => this.showEnding());
  }

  /** The end of what there is; where the ending is longer than the view, its beginning. */
  showEnding() {
    if (!this.follow()) return;
    if (this.ending?.offsetHeight > this.thread.clientHeight) this.ending.scrollIntoView();
  }

  put(element) {
    this.status.before(element);
  }

  settle() {
    const { head } = session;
    this.badge.hidden = head.metered || !session.begun;
    this.showMeter();
    this.showStatus();
    this.tick();
    this.follow();
  }

  showMeter() {
    const { totals, metered } = session.head;
    this.meter.hidden = !session.begun;
    const parts = [...figures(totals, metered, this.before + session.limits.steps)];
    const shown = (quiet) => parts.filter((part) => Boolean(part.quiet) === quiet).map((part) => h("span", {}, ...part.words));
    this.meter.replaceChildren(h("div", {}, ...shown(false)), h("div", { class: "hide-s" }, ...shown(true)));
  }

  showStatus() {
    const { head } = session;
    this.status.hidden = !head.alive || !WAITING.has(head.state);
    this.status.dataset.tone = tone(head);
    const [text, bar, fill] = ["words", "progress", "progress i"].map((name) => this.status.querySelector(`.${name}`));
    const detail = head.detail && head.state !== "retrying" ? `: ${head.detail}` : "";
    text.textContent = words(head) + (head.state === "waiting_model" ? "" : detail);
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

  offerLatest(following) {
    this.latest.hidden = following || !session.alive;
  }
}

function* figures(totals, metered, limit) {
  if (session.alive) yield { words: ["step ", h("b", {}, String(session.step)), limit ? ` of ${limit}` : ""] };
  else yield { words: [h("b", {}, String(totals.steps)), totals.steps === 1 ? " step" : " steps"] };
  if (!metered && !totals.prompt_tokens) yield { words: ["no tokens: scripted"] };
  else if (totals.prompt_tokens) yield* tokens(totals);
  if (totals.model_seconds + totals.sandbox_seconds >= 0.1) {
    yield { words: ["model ", h("b", {}, seconds(totals.model_seconds))], quiet: true };
    yield { words: ["sandbox ", h("b", {}, seconds(totals.sandbox_seconds))], quiet: true };
  }
  if (totals.peak_memory) yield { words: ["memory ", h("b", {}, bytes(totals.peak_memory))], quiet: true };
  if (totals.cost !== null) yield { words: ["cost ", h("b", {}, totals.cost.toFixed(3))] };
}

function* tokens(totals) {
  const about = totals.estimated ? "≈ " : "";
  const bold = (n) => h("b", { title: number(n) }, about + count(n));
  const cached = totals.cached_tokens ? h("span", { class: "dim" }, ` (${count(totals.cached_tokens)} cached)`) : null;
  yield { words: [bold(totals.prompt_tokens), " tokens in", cached].filter(Boolean) };
  yield { words: [bold(totals.generated_tokens), " out"] };
  if (totals.environment_tokens) yield { words: [bold(totals.environment_tokens), " from the sandbox"] };
  yield { words: ["longest context ", bold(totals.peak_context)], quiet: true };
}

const TITLES = {
  submitted: "Answer", answered: "Answer", stopped: "Stopped", failed: "Failed",
  step_limit: "Step limit reached", token_limit: "Token limit reached",
  budget_limit: "Budget reached", time_limit: "Time limit reached",
};

function ending(status, reason, answer) {
  const kind = tone({ alive: false, state: status });
  const box = h("section", { class: "ending", "data-tone": kind, "aria-label": TITLES[status] }, h("h2", {}, TITLES[status]));
  if (reason) box.append(h("p", { class: "reason" }, reason));
  const next = sequel(status);
  if (next) box.append(h("p", { class: "next" }, next));
  if (answer) box.append(...said(answer));
  box.append(h("div", { class: "outputs" }));
  return box;
}

function said(answer) {
  const text = h("div", { class: "answer" }, answer);
  render(text, answer);
  const tool = h("button", { type: "button", class: "quiet copy", onclick: (e) => copy(answer, e.target) }, "copy");
  return [text, tool];
}

async function showOutputs(place) {
  if (session.mode === "plain") return;
  try {
    const { entries } = await ask(runApi("files?folder=output"));
    place.append(...entries.filter((entry) => entry.kind === "file").map(fileCard));
  } catch {
    // a run whose workspace is gone still has its timeline
  }
}

function fileCard(entry) {
  const address = runApi(`files/${entry.path}`);
  const kind = kindOf(entry.name);
  const shown = `${address}?inline=1&v=${entry.changed}`;
  const look = { type: "button", class: "look", "aria-label": `Look at ${entry.name}`, onclick: () => emit("look", entry.path) };
  let view = h("button", look, icon(kind));
  if (kind === "image" && !entry.name.endsWith(".svg")) view = h("button", look, picture(shown, ""));
  if (kind === "sound") view = h("audio", { src: shown, controls: true, preload: "metadata", "aria-label": entry.name });
  return h("figure", { class: `output ${kind}` }, view, h("figcaption", {},
    h("b", { title: entry.name }, entry.name), h("small", { class: "num" }, bytes(entry.size)),
    h("a", { href: address, download: entry.name, "aria-label": `Download ${entry.name}` }, icon("down"))));
}

export function mountTimeline(element, props, watch) {
  new Timeline(element.querySelector(".timeline"));
  on("reset", () => (props.value = session.run));
  watch("value", () => attach(props.value || null));
  addEventListener("mounted", () => attach(new URLSearchParams(location.search).get("run")), { once: true });
}
