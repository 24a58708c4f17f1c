// General MIDI synthesizer: SpessaSynth in an audio worklet, with limited polyphony.

import { loadLibrary } from "../../core/loading/libraries.js";
import { fetchWithRetry } from "../../core/loading/fetch.js";

export const AHEAD_SECONDS = 0.2; // that events are scheduled ahead
const MAX_NOTES = 96; // at a time
const DRUM_CHANNEL = 9;

/** Create a synthesizer; throws if its library is not installed or its sounds do not load. */
export async function createSynth() {
  const context = new AudioContext();
  try {
    const { WorkletSynthesizer, soundBankUrl } = await loadLibrary("synthesizer");
    await context.audioWorklet.addModule(new URL("ui/vendor/synthesizer.worklet.js", document.baseURI).href);
    const response = await fetchWithRetry(soundBankUrl);
    if (!response.ok) throw new Error("The instruments cannot be loaded.");
    const worklet = new WorkletSynthesizer(context);
    await worklet.soundBankManager.addSoundBank(await response.arrayBuffer(), "general-midi");
    await worklet.isReady;
    return new Synth(context, worklet);
  } catch (error) {
    context.close();
    throw error;
  }
}

class Synth {
  constructor(context, worklet) {
    this.context = context;
    this.worklet = worklet;
    this.programs = [];
    this.sounding = [];
    this.output = context.createGain();
    worklet.connect(this.output);
    this.output.connect(context.destination);
  }

  get now() {
    return this.context.currentTime;
  }

  set volume(value) {
    this.output.gain.setValueAtTime(value, this.now);
  }

  /** Become audible; returns the time of the context's clock from which notes can be scheduled. */
  start(volume) {
    this.context.resume();
    this.worklet.stopAll(true);
    const begins = Math.max(this.now + 0.06, this.silentUntil ?? 0);
    this.output.gain.setValueAtTime(volume, begins - 0.01);
    return begins;
  }

  /** Schedule a note at a time of the context's clock; skip it if too many are playing. */
  play({ channel, program, pitch, velocity }, when, seconds) {
    if (this.sounding.length >= MAX_NOTES) return;
    if (channel !== DRUM_CHANNEL && this.programs[channel] !== program) this.worklet.programChange(channel, program, { time: when });
    this.programs[channel] = program;
    this.worklet.noteOn(channel, pitch, velocity, { time: when });
    this.sounding.push({ channel, pitch, end: when + Math.max(0.03, seconds) });
  }

  /** Schedule the ends of notes that are due. */
  endNotes(until = this.now + AHEAD_SECONDS) {
    this.sounding = this.sounding.filter(({ channel, pitch, end }) => {
      if (end <= until) this.worklet.noteOff(channel, pitch, { time: end });
      return end > until;
    });
  }

  /** Stop the sound; notes that are scheduled already pass unheard. */
  silence() {
    this.silentUntil = this.now + AHEAD_SECONDS + 0.02;
    this.output.gain.cancelScheduledValues(0);
    this.output.gain.setValueAtTime(0, this.now);
    this.worklet.stopAll(true);
    for (const note of this.sounding) note.end = Math.min(note.end, this.silentUntil);
    this.endNotes(Infinity);
  }

  close() {
    this.worklet.destroy();
    this.context.close();
  }
}
