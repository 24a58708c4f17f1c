// Decoding and encoding of text that preserves encoding, byte order mark and line endings.

import { h } from "../../core/dom.js";
import { commonEnds } from "../diff/line_changes.js";

const ENCODINGS =
  "utf-8 utf-16-le utf-16-be cp1252 iso8859-1 iso8859-15 cp1250 cp1254 cp1257 cp850 cp1251 koi8-r cp866 cp1253 cp1255 cp1256 cp874 gb18030 big5 cp932 euc_jp cp949";

const LABELS = {
  "utf-16-le": "utf-16le",
  "utf-16-be": "utf-16be",
  cp932: "shift_jis",
  cp949: "euc-kr",
  cp874: "windows-874",
  euc_jp: "euc-jp",
  gbk: "gb18030",
  gb2312: "gb18030",
  "mac-roman": "macintosh",
  ascii: "utf-8",
};
const BYTE_ORDER_MARK = "\ufeff";
const LINE_ENDINGS = /\r\n|\r|\n/g;

/** A choice of the encoding in which a file is shown. */
export function encodingSelect(current, onChange) {
  const names = [...new Set([current, ...ENCODINGS.split(" ")])];
  const select = h(
    "select",
    { "aria-label": "Encoding", title: "Reopen with another encoding", onchange: () => onChange(select.value) },
    ...names.map((name) => h("option", { value: name, selected: name === current }, encodingName(name))),
  );
  select.value = current;
  return select;
}

const NAMES = { cp932: "Shift-JIS", cp949: "EUC-KR", euc_jp: "EUC-JP" };
const encodingName = (name) =>
  NAMES[name] ??
  name
    .toUpperCase()
    .replace(/^CP(125|874)/, "Windows-$1")
    .replace(/^ISO8859/, "ISO-8859");

/**
 * Decode a file with line endings as newlines; `write(text)` encodes a changed text. Throws an
 * Error with a message for the user if the bytes cannot be preserved.
 */
export function decodeFile(bytes, encoding) {
  const label = LABELS[encoding] ?? encoding.replace(/^cp125/, "windows-125").replace(/^iso8859-/, "iso-8859-");
  let content;
  try {
    content = new TextDecoder(label, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error(`This file contains bytes that are not valid ${encoding.toUpperCase()}. Editing it here would lose them.`);
  }
  const bom = content.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
  const before = content.slice(bom.length);
  const encode = encoder(label);
  const write = (text) => encode(bom + applyLineEndings(before, text));
  if (!equalBytes(encode(content), bytes)) throw new Error(`Text in ${encoding.toUpperCase()} cannot be edited here without altering other parts of the file.`);
  return { text: before.replace(LINE_ENDINGS, "\n"), write };
}

/** Apply another text's line endings; unchanged lines keep their own. */
function applyLineEndings(before, text) {
  const old = before.split(LINE_ENDINGS);
  const ends = before.match(LINE_ENDINGS) ?? [];
  const lines = text.split("\n");
  const { head, tail } = commonEnds(old, lines);
  const fallback = mostCommon(ends);
  const end = (at) => {
    if (at === lines.length - 1) return "";
    return (at < head ? ends[at] : at >= lines.length - tail ? ends[at + old.length - lines.length] : "") || fallback;
  };
  return lines.map((line, at) => line + end(at)).join("");
}

function mostCommon(ends) {
  const counts = new Map();
  for (const each of ends) counts.set(each, (counts.get(each) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? "\n";
}

function equalBytes(a, b) {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

function encoder(label) {
  if (label === "utf-8") return (text) => new TextEncoder().encode(text);
  if (label.startsWith("utf-16")) return (text) => utf16(text, label === "utf-16le");
  const table = encodingTable(label);
  return (text) => {
    const bytes = [];
    for (const char of text) {
      const found = table.get(char);
      if (!found) throw new Error(`“${char}” cannot be encoded in ${label.toUpperCase()}, the encoding of this file.`);
      bytes.push(...found);
    }
    return new Uint8Array(bytes);
  };
}

function utf16(text, little) {
  const view = new DataView(new ArrayBuffer(2 * text.length));
  for (let at = 0; at < text.length; at++) view.setUint16(2 * at, text.charCodeAt(at), little);
  return new Uint8Array(view.buffer);
}

/** Map characters to bytes in a one- or two-byte encoding, because browsers only decode those. */
function encodingTable(label) {
  const decoder = new TextDecoder(label, { fatal: true });
  const table = new Map();
  const add = (...bytes) => {
    try {
      const text = decoder.decode(new Uint8Array(bytes));
      if ([...text].length === 1 && !table.has(text)) table.set(text, bytes);
    } catch {
      // invalid byte sequence
    }
  };
  for (let byte = 0; byte < 256; byte++) add(byte);
  if (table.size > 200) return table;
  for (let first = 0x81; first < 0xff; first++) for (let second = 0x40; second < 0xff; second++) add(first, second);
  return table;
}
