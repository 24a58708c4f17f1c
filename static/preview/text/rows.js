// Renders lines of text: colours, line numbers and marks for invisible characters.

import { h } from "../../core/dom.js";

const CLASSES = {
  k: "syn-keyword",
  s: "syn-string",
  n: "syn-number",
  c: "syn-comment",
  f: "syn-option",
  v: "syn-variable",
  a: "add",
  r: "del",
  h: "heading",
  e: "bad",
  w: "warn",
  t: "dim",
};
const TERMINAL = /^(?:bg)?3[0-7]$|^(?:bg)?40$|^[bdiusx]$/;
// Characters without a glyph, and direction controls.
export const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|(?<![^\u0000-\u007f])[\u200c\u200d](?![^\u0000-\u007f])/gu;
const ANY_INVISIBLE = new RegExp(INVISIBLE.source, "u");
const NAMES = { 0x0d: "CR", 0x1b: "ESC", 0x00: "NUL", 0x08: "BS", 0x07: "BEL", 0x0c: "FF", 0x7f: "DEL", 0xfeff: "BOM" };

/** One line, or a part of a long one. */
export function renderRow(pieces, continued) {
  const element = h("div", { class: continued ? "row continuation" : "row" });
  for (const piece of pieces) {
    const [kind, text] = typeof piece === "string" ? ["", piece] : piece;
    if (!kind) element.append(...markInvisible(text));
    else element.append(h("span", { class: classes(kind) }, ...markInvisible(text)));
  }
  return element;
}

function classes(kind) {
  if (!kind.startsWith("t ")) return CLASSES[kind] ?? "";
  return kind
    .split(" ")
    .slice(1)
    .filter((word) => TERMINAL.test(word))
    .map((word) => `term-${word}`)
    .join(" ");
}

/** Split text and mark invisible characters. */
export function* markInvisible(text) {
  if (!ANY_INVISIBLE.test(text)) return yield text;
  let at = 0;
  for (const match of text.matchAll(INVISIBLE)) {
    if (match.index > at) yield text.slice(at, match.index);
    yield invisibleMark(match[0].codePointAt(0));
    at = match.index + match[0].length;
  }
  if (at < text.length) yield text.slice(at);
}

/** The mark shown instead of an invisible character, a code point. */
export function invisibleMark(code) {
  const name = NAMES[code] ?? (code < 0x20 ? `^${String.fromCharCode(code + 64)}` : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`);
  return h("span", { class: "invisible", "data-code": code, title: `Invisible character: ${name}` }, name);
}

/** The selection as in the file: without marks, long lines joined. */
export function copiedText(fragment) {
  for (const mark of fragment.querySelectorAll(".invisible")) mark.replaceWith(String.fromCodePoint(Number(mark.dataset.code)));
  const rows = [...fragment.querySelectorAll(".row")];
  if (!rows.length) return fragment.textContent;
  return rows.map((each, at) => (at && !each.classList.contains("continuation") ? "\n" : "") + each.textContent).join("");
}
