// Display names, ages and sizes of files.

import { h } from "../core/dom.js";
import { formatBytes, plural } from "../core/format.js";

const MIN_LENGTH = 16; // minimum characters of a name that may be truncated
const MAX_EXTENSION = 9;
const KEPT_BEFORE_EXTENSION = 4; // characters kept before the extension: they often number a file
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u;
const SIGNS = { "\n": "↵", "\r": "␍", "\t": "⇥" };
const ABBREVIATIONS = {
  "\u061c": "ALM",
  "\u200b": "ZWSP",
  "\u200c": "ZWNJ",
  "\u200d": "ZWJ",
  "\u200e": "LRM",
  "\u200f": "RLM",
  "\u202a": "LRE",
  "\u202b": "RLE",
  "\u202c": "PDF",
  "\u202d": "LRO",
  "\u202e": "RLO",
  "\u2066": "LRI",
  "\u2067": "RLI",
  "\u2068": "FSI",
  "\u2069": "PDI",
  "\ufeff": "BOM",
};

/** A name with invisible and direction-changing characters made visible. */
export function visibleName(name) {
  if (!INVISIBLE.test(name)) return [name];
  return [...name].map((char) => (INVISIBLE.test(char) ? h("i", { class: "invisible" }, charLabel(char)) : char));
}

/** Split a long name: its start, which may be truncated, and its end with the extension. */
export function splitName(name) {
  const letters = [...name];
  const dot = letters.lastIndexOf(".");
  const ending = dot > 0 ? letters.length - dot : 0;
  let at = letters.length - (ending <= MAX_EXTENSION ? ending : 0) - KEPT_BEFORE_EXTENSION;
  while (at > 0 && /\p{M}/u.test(letters[at])) at--;
  return letters.length < MIN_LENGTH || at < 1 ? [name] : [letters.slice(0, at).join(""), letters.slice(at).join("")];
}

function charLabel(char) {
  return SIGNS[char] ?? ABBREVIATIONS[char] ?? `U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** An age in a few characters. */
export function shortAge(s) {
  if (s < 10) return "now";
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  return s < 31_536_000 ? `${Math.floor(s / 86_400)} d` : `${Math.floor(s / 31_536_000)} y`;
}

/** The size of a file or the item count of a folder. */
export function entrySize(entry, folder) {
  if (entry.kind === "file") return formatBytes(entry.size);
  if (entry.kind !== "folder") return entry.kind === "link" ? "link" : "special";
  const count = folder?.loaded ? folder.total : entry.child_count;
  if (count === null || count === undefined) return "";
  if (!count) return "empty";
  return count >= 1000 && !folder?.loaded ? "1,000+ items" : plural(count, "item");
}

/** Describe an entry as of a step: which step made it, and whether its content was kept. */
export function pastText({ kind, step, later, not_kept: notKept }, shownStep) {
  if (later) return `from step ${step}`;
  if (notKept) return "not kept";
  if (kind === "folder" || step === undefined) return "";
  if (!step) return "at the start";
  return step === shownStep ? "changed here" : `step ${step}`;
}

/** Describe a step's change to a file. */
export function markText(mark) {
  if (!mark) return "";
  const change = mark.kind === "added" ? "new" : "changed";
  return mark.unread ? `${change} · step ${mark.step}` : `step ${mark.step}`;
}
