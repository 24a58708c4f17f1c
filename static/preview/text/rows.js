// Renders lines of text: colours, line numbers and marks for invisible characters.

import { h } from "../../core/dom.js";

const CLASS = /^(?:(?:syn|term)-\w+|add|del|heading|bad|warn|dim)$/;
// Characters without a glyph, and direction controls.
export const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|(?<![^\u0000-\u007f])[\u200c\u200d](?![^\u0000-\u007f])/gu;
const NAMES = { 0x0d: "CR", 0x1b: "ESC", 0x00: "NUL", 0x08: "BS", 0x07: "BEL", 0x0c: "FF", 0x7f: "DEL", 0xfeff: "BOM" };

/** One line, or a part of a long one. */
export function renderRow(pieces, continued) {
  const element = h("div", { class: continued ? "row continuation" : "row" });
  for (const piece of pieces) {
    const [classes, text] = typeof piece === "string" ? ["", piece] : piece;
    const known = classes.split(" ").filter((name) => CLASS.test(name));
    element.append(...(known.length ? [h("span", { class: known.join(" ") }, ...markInvisible(text))] : markInvisible(text)));
  }
  return element;
}

/** Split text and mark invisible characters. */
export function* markInvisible(text) {
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
