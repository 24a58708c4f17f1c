// The time bar below the run: play, speed, the track, and the time.

import { h, iconButton, setIcon, waitForElement } from "../core/dom.js";
import { currentRun, on } from "../core/event_stream.js";
import { formatElapsed, plural } from "../core/format.js";
import { PACES } from "./clock.js";
import { Track } from "./track.js";

const MIN_STEPS = 2; // a run of one step has no past to go to

export class TimeBar {
  #action = "play"; // what the button offers

  constructor(scrubber) {
    this.scrubber = scrubber;
    const { player } = scrubber;
    this.track = new Track({ onMove: (step) => scrubber.goTo(step) });
    this.playButton = iconButton("play", "Play", () => (player.playing ? player.pause() : player.play()), { class: "main" });
    this.speed = h("select", { "aria-label": "Speed", onchange: () => this.setPace(this.speed.value) });
    this.speed.append(...PACES.map(({ name, label }) => h("option", { value: name }, label)));
    this.speed.value = player.pace.name;
    this.loop = h("button", { class: "quiet loop", title: "Start again at the end", onclick: () => this.toggleLoop() }, "Loop");
    this.time = h("span", { class: "num time" });
    this.live = h("span", { class: "live-badge num", hidden: true }, "LIVE");
    const step = (by, label, keys) =>
      iconButton(by < 0 ? "before" : "next", `${label} (${keys})`, () => scrubber.move(by), { class: "quiet", "aria-keyshortcuts": keys });
    this.pace = h("label", { class: "pace" }, h("span", { "aria-hidden": "true" }, "Speed"), this.speed);
    const controls = h("div", { class: "play" }, step(-1, "Previous step", "["), this.playButton, this.live, step(1, "Next step", "]"), this.pace, this.loop);
    this.element = h("section", { class: "time-bar", "aria-label": "Time", hidden: true }, controls, this.track.element, this.time);
    this.track.element.setAttribute("aria-keyshortcuts", "[ ] { } Home End");
    this.showLoop();
    for (const name of ["update", "tick"]) on(name, () => this.showLive());
    waitForElement("#studio").then((studio) => studio.parentElement.append(this.element));
  }

  setPace(name) {
    this.scrubber.player.setPace(name);
    this.show(this.scrubber.moment);
  }

  toggleLoop() {
    const { player } = this.scrubber;
    player.setLoop(!player.loop);
    this.showLoop();
  }

  showLoop() {
    this.loop.setAttribute("aria-pressed", String(this.scrubber.player.loop));
  }

  /** While a run works, its end is shown as it comes: there is nothing to play, but the past. */
  showLive() {
    const { figures } = this.scrubber;
    const isLive = currentRun.running && !currentRun.moment;
    this.live.hidden = !isLive;
    this.playButton.hidden = this.pace.hidden = this.loop.hidden = isLive;
    if (!isLive) return;
    this.time.textContent = `${formatElapsed(currentRun.now() - (figures.of(1)?.began ?? currentRun.now()))} · real time`;
  }

  showSteps() {
    this.track.setSteps(this.scrubber.figures.steps);
  }

  showStep(step) {
    this.track.update(step);
  }

  /** Show the moment, or the run as it is now. */
  show(moment) {
    const { figures, player, count } = this.scrubber;
    this.element.hidden = count < MIN_STEPS;
    const share = moment?.event != null ? (moment.event + 1) / moment.events.length : 1;
    this.track.show(moment?.step ?? null, share);
    const total = figures.secondsUntil(figures.count);
    const [about, until] = [player.pace.about, moment && figures.secondsUntil(moment.step)];
    this.time.textContent = moment ? `${formatElapsed(until)} of ${formatElapsed(total)} · ${about}` : formatElapsed(total);
    this.showLive();
    this.time.title = `Time that the model and the sandbox worked, in ${plural(figures.count, "step")}`;
    const [name, label] = player.playing ? ["pause", "Pause"] : ["play", "Play"];
    if (this.#action === name) return;
    this.#action = name;
    setIcon(this.playButton, name, label);
  }
}
