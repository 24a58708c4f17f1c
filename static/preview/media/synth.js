// Small synthesizer: one timbre per instrument family, noise for drums, limited polyphony.

const VOICES = 48;
const DRUMS = 16;
// wave, attack, decay, sustain, release, loudness
const PIANO = ["triangle", 0.004, 0.6, 0.25, 0.18, 0.5];
const TIMBRES = [
  PIANO, // piano
  ["sine", 0.002, 0.9, 0.1, 0.3, 0.5], // chimes
  ["sine", 0.02, 0.1, 0.9, 0.08, 0.4], // organ
  ["triangle", 0.003, 0.5, 0.2, 0.15, 0.5], // guitar
  ["triangle", 0.005, 0.4, 0.5, 0.1, 0.7], // bass
  ["sawtooth", 0.06, 0.2, 0.8, 0.2, 0.16], // strings
  ["sawtooth", 0.08, 0.2, 0.8, 0.3, 0.14], // ensemble
  ["sawtooth", 0.03, 0.15, 0.75, 0.1, 0.18], // brass
  ["square", 0.02, 0.1, 0.8, 0.1, 0.14], // reed
  ["sine", 0.04, 0.1, 0.9, 0.12, 0.4], // pipe
  ["square", 0.005, 0.1, 0.7, 0.08, 0.14], // lead
  ["sawtooth", 0.2, 0.3, 0.8, 0.5, 0.12], // pad
  ["triangle", 0.1, 0.3, 0.6, 0.4, 0.35], // effects
  ["triangle", 0.003, 0.4, 0.2, 0.15, 0.5], // world
  ["sine", 0.002, 0.3, 0.05, 0.1, 0.5], // percussion
  ["triangle", 0.05, 0.3, 0.5, 0.3, 0.3], // sound effects
];

export class Synth {
  constructor() {
    this.context = new AudioContext();
    this.output = this.context.createGain();
    const limit = this.context.createDynamicsCompressor();
    this.output.connect(limit).connect(this.context.destination);
    this.voices = new Set();
    this.noise = this.context.createBuffer(1, this.context.sampleRate, this.context.sampleRate);
    const samples = this.noise.getChannelData(0);
    for (let at = 0; at < samples.length; at++) samples[at] = Math.random() * 2 - 1;
  }

  get now() {
    return this.context.currentTime;
  }

  set volume(value) {
    this.output.gain.value = value;
  }

  /** Schedule a note at a time of the audio context's clock; skip it if too many are playing. */
  play({ pitch, velocity, family }, when, seconds) {
    if (this.voices.size >= VOICES) return;
    const gain = this.context.createGain();
    gain.connect(this.output);
    const end = family === DRUMS ? this.drum(pitch, gain, velocity / 127, when) : this.tone(pitch, gain, velocity / 127, when, seconds, TIMBRES[family] ?? PIANO);
    end.addEventListener("ended", () => {
      this.voices.delete(end);
      gain.disconnect();
    });
    this.voices.add(end);
  }

  tone(pitch, gain, loudness, when, seconds, [wave, attack, decay, sustain, release, level]) {
    const voice = this.context.createOscillator();
    voice.type = wave;
    voice.frequency.value = 440 * 2 ** ((pitch - 69) / 12);
    const top = loudness * level * 0.5;
    const duration = Math.max(seconds, attack + 0.02);
    gain.gain.setValueAtTime(0, when);
    gain.gain.linearRampToValueAtTime(top, when + attack);
    gain.gain.setTargetAtTime(top * sustain, when + attack, decay / 3);
    gain.gain.setTargetAtTime(0, when + duration, release / 4);
    voice.connect(gain);
    voice.start(when);
    voice.stop(when + duration + release);
    return voice;
  }

  /** Kick drums fall in pitch; other drums are short or long noise. */
  drum(pitch, gain, loudness, when) {
    const kick = pitch === 35 || pitch === 36 || (pitch >= 41 && pitch <= 50 && pitch % 2);
    const long = [46, 49, 51, 52, 55, 57, 59].includes(pitch);
    const length = kick ? 0.25 : long ? 0.5 : pitch === 38 || pitch === 40 ? 0.18 : 0.07;
    gain.gain.setValueAtTime(loudness * (kick ? 0.8 : 0.3), when);
    gain.gain.exponentialRampToValueAtTime(0.001, when + length);
    const voice = kick ? this.context.createOscillator() : this.context.createBufferSource();
    if (kick) {
      voice.frequency.setValueAtTime(pitch > 40 ? 200 : 140, when);
      voice.frequency.exponentialRampToValueAtTime(45, when + length);
      voice.connect(gain);
    } else {
      voice.buffer = this.noise;
      const filter = this.context.createBiquadFilter();
      filter.type = pitch === 38 || pitch === 40 ? "bandpass" : "highpass";
      filter.frequency.value = pitch === 38 || pitch === 40 ? 1800 : 7000;
      voice.connect(filter).connect(gain);
    }
    voice.start(when);
    voice.stop(when + length);
    return voice;
  }

  silence() {
    for (const voice of this.voices) voice.stop();
    this.voices.clear();
  }

  close() {
    this.silence();
    this.context.close();
  }
}
