// Notebook preview: cells and outputs; runs no code.

import { h, loadStyles } from "../../core/dom.js";
import { plural } from "../../core/format.js";
import { insertHtml, loadSanitiser } from "../../core/text/sanitised_html.js";
import { LazyList } from "../lazy_list.js";
import { renderRow } from "../text/rows.js";
import { sourceToggle } from "../parts.js";

export async function open(file, first) {
  await Promise.all([loadSanitiser(), loadStyles("preview/text/text.css")]);
  return new Notebook(file, first);
}

class Notebook extends LazyList {
  constructor(file, first) {
    super(file, first, "cells", "notebook", "This notebook has no cells.");
    file.setTools(...sourceToggle(file, ""));
  }

  statusText({ total, language }) {
    return `${plural(total, "cell")}, ${language}`;
  }

  createPart(cell, at) {
    if (cell.kind === "markdown")
      return h(
        "section",
        { class: "cell markdown-cell" },
        h("span", { class: "execution-count" }),
        h("div", {}, htmlElement(cell.html, "markdown"), truncationNote(cell.omitted)),
      );
    const input = h("pre", { class: cell.kind, tabindex: "0" }, ...cell.rows.map((pieces) => renderRow(pieces, false)));
    const count = cell.kind === "code" ? `[${cell.count ?? " "}]` : "";
    const outputs = (cell.outputs ?? []).map((output, number) => this.output(output, at, number));
    if (cell.more_outputs) outputs.push(h("p", { class: "dim" }, `${plural(cell.more_outputs, "more output")} not shown.`));
    return h(
      "section",
      { class: "cell", "aria-label": `Cell ${count}` },
      h("span", { class: "execution-count num" }, count),
      h("div", {}, input, truncationNote(cell.omitted), outputs.length ? h("div", { class: "outputs" }, ...outputs) : null),
    );
  }

  output(output, at, number) {
    if (output.kind === "image") return this.imageElement(output, at, number);
    if (output.kind === "html") return htmlElement(output.html, output.html.includes("<math") ? "markdown" : "output html");
    const hasText = output.rows.some((pieces) => pieces.length);
    return h(
      "div",
      { class: output.error ? "output bad" : "output" },
      hasText ? h("pre", { tabindex: "0" }, ...output.rows.map((pieces) => renderRow(pieces, false))) : null,
      truncationNote(output.omitted),
      output.interactive ? h("p", { class: "dim" }, "This output needs scripts, which are disabled here.") : null,
    );
  }

  imageElement({ type, alt }, at, number) {
    const image = h("img", { src: this.file.view({ image: `${at},${number},${type}` }), alt: alt || "Cell output", loading: "lazy" });
    image.addEventListener("error", () => image.replaceWith(h("p", { class: "dim" }, "This image cannot be displayed.")));
    return h("div", { class: "output" }, image);
  }
}

function htmlElement(html, classes) {
  const element = h("div", { class: classes });
  insertHtml(element, html);
  return element;
}

const truncationNote = (omitted) => (omitted ? h("p", { class: "dim" }, `… Not shown: ${plural(omitted, "more character")}.`) : null);
