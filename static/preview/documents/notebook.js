// Notebook preview: cells and outputs; runs no code.

import { h, styled } from "../../core/dom.js";
import { number, plural } from "../../core/format.js";
import { put } from "../../core/markdown.js";
import { fill } from "./sanitised_html.js";
import { Parts } from "../lazy_list.js";
import { row } from "../text/rows.js";
import { sides } from "../source_toggle.js";

export async function open(file, first) {
  await styled("preview/text/text.css");
  return new Notebook(file, first);
}

class Notebook extends Parts {
  constructor(file, first) {
    super(file, first, "cells", "notebook", "This notebook has no cells.");
    file.tools(...sides(file, "notebook", ""));
  }

  about({ total, language }) {
    return `${plural(total, "cell")}, ${language}`;
  }

  part(cell, at) {
    if (cell.kind === "markdown") return h("section", { class: "cell words" }, h("span", { class: "no" }), h("div", {}, rendered(cell.html), cutBy(cell.cut)));
    const input = h("pre", { class: cell.kind, tabindex: "0" }, ...cell.rows.map((pieces) => row(pieces, false)));
    const count = cell.kind === "code" ? `[${cell.count ?? " "}]` : "";
    const outputs = (cell.outputs ?? []).map((output, number) => this.output(output, at, number));
    if (cell.more) outputs.push(h("p", { class: "dim" }, `${plural(cell.more, "more output")} not shown.`));
    return h("section", { class: "cell", "aria-label": `Cell ${count}` }, h("span", { class: "no num" }, count), h("div", {}, input, cutBy(cell.cut),
      outputs.length ? h("div", { class: "outputs" }, ...outputs) : null));
  }

  output(output, at, number) {
    if (output.kind === "picture") return this.picture(output, at, number);
    if (output.kind === "html") return output.html.includes("<math") ? rendered(output.html) : foreign(output.html);
    const written = output.rows.some((pieces) => pieces.length);
    return h("div", { class: output.error ? "out bad" : "out" },
      written ? h("pre", { tabindex: "0" }, ...output.rows.map((pieces) => row(pieces, false))) : null, cutBy(output.cut),
      output.live ? h("p", { class: "dim" }, "This output needs scripts, which are disabled here.") : null);
  }

  picture({ type, about }, at, number) {
    const image = h("img", { src: this.file.view({ image: `${at},${number},${type}` }), alt: about || "Cell output", loading: "lazy" });
    image.addEventListener("error", () => image.replaceWith(h("p", { class: "dim" }, "This image cannot be displayed.")));
    return h("div", { class: "out" }, image);
  }
}

function rendered(html) {
  const element = h("div", { class: "markdown" });
  put(element, html);
  return element;
}

function foreign(html) {
  const element = h("div", { class: "out html" });
  fill(element, html);
  return element;
}

const cutBy = (cut) => (cut ? h("p", { class: "dim" }, `… ${number(cut)} more characters are not shown.`) : null);
