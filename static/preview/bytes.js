// What has no preview of its own: its first bytes.

import { h } from "../dom.js";
import { number } from "../format.js";

export function open(file, { rows }) {
  file.tell("no preview for this kind of file");
  if (!rows.length) return { element: h("p", { class: "empty" }, "This file is empty.") };
  const lines = rows.map(([at, hex, text]) => h("tr", {},
    h("th", { scope: "row" }, number(at)), h("td", {}, hex), h("td", {}, text)));
  return { element: h("table", { class: "hex", tabindex: "0" }, ...lines) };
}
