// Plays General MIDI with sampled instruments: SpessaSynth, and Sonivox's 1.3 MB sound bank.
export { WorkletSynthesizer } from "spessasynth_lib";
import soundBank from "@coderline/alphatab/soundfont/sonivox.sf2";
export const soundBankUrl = new URL(soundBank, import.meta.url).href;
