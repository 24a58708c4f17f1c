// MIDI preview: a piano roll with playback by a General MIDI synthesizer.

import { h } from "../../core/dom.js";
import { formatClock, formatNumber, plural } from "../../core/format.js";
import { PlayerControls } from "./player.js";
import { COLOURS, PianoRoll } from "./piano_roll.js";
import { AHEAD_SECONDS, createSynth } from "./synth.js";

const SCHEDULE_MS = 60; // ms

class MidiPreview {
  constructor(file, first) {
    this.file = file;
    this.at = 0;
    this.rate = 1;
    this.volume = 0.8;
    this.roll = new PianoRoll((at) => this.seek(at));
    this.tracks = h("div", { class: "tracks", role: "group", "aria-label": "Tracks" });
    this.note = h("p", { class: "note", role: "status" });
    this.element = h("div", { class: "midi" });
    const actions = {
      toggle: () => this.toggle(),
      seek: (at) => this.seek(at),
      now: () => this.now,
      length: () => this.first.seconds,
      zoom: (by) => this.roll.zoom(by),
      setRate: (rate) => this.setRate(rate),
      setVolume: (volume) => this.setVolume(volume),
    };
    this.controls = new PlayerControls(this.element, actions, { volume: this.volume });
    this.element.append(this.controls.element, this.tracks, this.note, this.roll.element);
    this.update(first);
  }

  update(first) {
    this.first = first;
    const { tracks, notes, seconds, tempo, stop_reason: stopReason } = first;
    const count = notes.start.length;
    const used = tracks.filter((track) => track.note_count).length;
    this.file.setDetails([plural(count, "note"), plural(used, "track"), `${formatNumber(tempo)} BPM`, formatClock(seconds)].join(" · "));
    this.note.textContent = stopReason ? `Incomplete: ${stopReason}.` : count ? "" : "There are no notes in this file.";
    this.controls.play.disabled = !count;
    this.roll.muted = new Set([...this.roll.muted].filter((each) => each < tracks.length));
    this.tracks.replaceChildren(...tracks.map((track, at) => (track.note_count ? this.trackButton(track, at) : null)).filter(Boolean));
    this.roll.show(first);
    this.seek(Math.min(this.now, seconds));
  }

  trackButton({ name, instrument, note_count: noteCount }, at) {
    const label = name && instrument && !name.toLowerCase().includes(instrument.toLowerCase()) ? `${name}, ${instrument.toLowerCase()}` : name || instrument;
    const button = h(
      "button",
      { class: "quiet track", "aria-pressed": String(!this.roll.muted.has(at)), title: `${label}: ${plural(noteCount, "note")}` },
      h("i", { style: `background: var(${COLOURS[at % COLOURS.length]})` }),
      h("span", {}, label),
    );
    button.addEventListener("click", () => {
      if (!this.roll.muted.delete(at)) this.roll.muted.add(at);
      button.setAttribute("aria-pressed", String(!this.roll.muted.has(at)));
      if (this.playing) this.seek(this.now);
      this.roll.draw();
    });
    return button;
  }

  close() {
    this.closed = true;
    this.pause();
    this.synth?.close();
    this.roll.close();
  }

  get now() {
    return this.playing ? Math.max(0, Math.min(this.first.seconds, this.at + (this.synth.now - this.began) * this.rate)) : this.at;
  }

  async toggle() {
    if (this.playing) return void this.pause();
    await this.loadSynth();
    if (this.synth && !this.closed && !this.playing) this.start(this.at >= this.first.seconds - 0.01 ? 0 : this.at);
  }

  async loadSynth() {
    if (this.synth || this.loading || this.controls.play.disabled) return;
    this.loading = true;
    const text = this.note.textContent;
    this.note.textContent = "Loading the instruments…";
    try {
      this.synth = await createSynth();
      this.note.textContent = text;
    } catch (error) {
      this.note.textContent = error.message;
    }
    this.loading = false;
    if (this.closed) this.synth?.close();
  }

  start(at) {
    if (!this.first.notes.start.length) return;
    this.at = at;
    this.began = this.synth.start(this.volume);
    this.playing = true;
    this.next = this.first.notes.start.findIndex((start) => start >= at - 0.001);
    if (this.next < 0) this.next = this.first.notes.start.length;
    this.controls.showPlaying(true);
    clearInterval(this.timer);
    this.timer = setInterval(() => this.scheduleNotes(), SCHEDULE_MS);
    this.scheduleNotes();
    this.animate();
  }

  pause() {
    if (!this.playing) return;
    this.at = this.now;
    this.playing = false;
    clearInterval(this.timer);
    cancelAnimationFrame(this.frame);
    this.synth.silence();
    this.controls.showPlaying(false);
    this.tick();
  }

  seek(at) {
    const { playing } = this;
    if (playing) this.pause();
    this.at = at;
    if (playing) this.start(at);
    this.tick(true);
  }

  setRate(rate) {
    const at = this.now;
    this.rate = rate;
    if (this.playing) this.seek(at);
  }

  setVolume(volume) {
    this.volume = volume;
    if (this.playing) this.synth.volume = volume;
  }

  /** Schedule the notes that are due next. */
  scheduleNotes() {
    const { start, end, pitch, velocity, track, channel, program } = this.first.notes;
    const until = this.now + AHEAD_SECONDS * this.rate;
    for (; this.next < start.length && start[this.next] <= until; this.next++) {
      const at = this.next;
      if (this.roll.muted.has(track[at])) continue;
      const when = Math.max(this.synth.now, this.began + (start[at] - this.at) / this.rate);
      this.synth.play(
        { channel: channel[at], program: program[at], pitch: pitch[at], velocity: velocity[at] },
        when,
        Math.min(30, (end[at] - start[at]) / this.rate),
      );
    }
    this.synth.endNotes();
    if (this.now < this.first.seconds) return;
    this.pause();
    this.at = this.first.seconds;
  }

  animate() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      this.tick(true);
      if (this.playing) this.animate();
    });
  }

  tick(follow = false) {
    this.roll.setPosition(this.now, follow && this.playing);
    this.controls.showTime();
  }
}

export const open = (file, first) => new MidiPreview(file, first);
