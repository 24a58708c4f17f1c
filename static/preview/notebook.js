// A notebook: its cells, and what they put out; nothing of it runs.

import { h, styled } from "../dom.js";
import { number, plural } from "../format.js";
import { put } from "../markdown.js";
import { fill } from "./foreign.js";
import { whenNear } from "./near.js";
import { row } from "./rows.js";
import { sides } from "./sides.js";

export async function open(file, first) {
  await Promise.all([styled("overview.css"), styled("markdown.css"), styled("preview/text.css")]);
  return new Notebook(file, first);
}

class Notebook {
  constructor(file, first) {
    this.file = file;
    this.element = h("div", { class: "notebook" });
    this.more = h("div", { class: "more", role: "status" }, "More cells …");
    file.tools(...sides(file, "notebook", ""));
    this.update(first);
  }

  close() {
    this.stop?.();
  }

  /** The cells anew, as many as there were, so that the place stays. */
  async update(first) {
    const wanted = this.cells?.length ?? 0;
    const cells = first.cells;
    while (cells.length < Math.min(wanted, first.total)) {
      const next = await this.file.ask({ start: cells.length });
      if (!next.cells.length) break;
      cells.push(...next.cells);
    }
    Object.assign(this, { first, cells });
    this.element.replaceChildren(...cells.map((cell, at) => this.cell(cell, at)), this.more);
    if (!cells.length) this.element.replaceChildren(h("p", { class: "dim" }, "This notebook has no cells."));
    this.told();
  }

  told() {
    const { total, language } = this.first;
    this.file.tell(`${plural(total, "cell")}, ${language}`);
    this.more.hidden = this.cells.length >= total;
    this.stop?.();
    this.stop = this.more.hidden ? null : whenNear(this.more, () => this.next());
  }

  async next() {
    if (this.asking) return;
    this.asking = true;
    const { first } = this;
    try {
      const { cells, start } = await this.file.ask({ start: this.cells.length });
      if (first !== this.first || start !== this.cells.length) return;
      this.more.before(...cells.map((cell, at) => this.cell(cell, start + at)));
      this.cells.push(...cells);
      this.told();
    } catch (error) {
      this.more.textContent = error.message;
      this.stop?.();
    } finally {
      this.asking = false;
    }
  }

  cell(cell, at) {
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
      output.live ? h("p", { class: "dim" }, "This output needs scripts, which are not run here.") : null);
  }

  picture({ type, about }, at, number) {
    const image = h("img", { src: this.file.view({ image: `${at},${number},${type}` }), alt: about || "Output of the cell", loading: "lazy" });
    image.addEventListener("error", () => image.replaceWith(h("p", { class: "dim" }, "This picture is broken.")));
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
