// Presentation preview: slides as cards with positioned boxes and notes below.

import { h } from "../../core/dom.js";
import { plural } from "../../core/format.js";
import { LazyList } from "../lazy_list.js";

const FONT_SIZES = { title: 32, text: 18 }; // default font sizes in points
const SLIDE_HEIGHT = 540; // slide height in points

export function open(file, first) {
  return new Slides(file, first);
}

class Slides extends LazyList {
  constructor(file, first) {
    super(file, first, "slides", "slides", "This presentation has no slides.");
  }

  updateStatus() {
    this.element.style.setProperty("--ratio", this.first.aspect_ratio);
    super.updateStatus();
  }

  statusText({ total }) {
    return plural(total, "slide");
  }

  createPart({ title, boxes, notes, hidden, broken }, at) {
    const placed = boxes.filter((box) => box.position);
    const others = boxes.filter((box) => !box.position);
    const name = `Slide ${at + 1}${title ? `: ${title}` : ""}`;
    return h(
      "section",
      { class: hidden ? "deck-card hidden-slide" : "deck-card", "aria-label": name },
      h(
        "header",
        {},
        h("b", { class: "num" }, `${at + 1}`),
        h("span", {}, title),
        hidden ? h("i", {}, "hidden") : null,
        broken ? h("i", { class: "bad" }, "partly unreadable") : null,
      ),
      h(
        "div",
        { class: "slide-body" },
        ...placed.map((box) => this.createBox(box)),
        others.length ? h("div", { class: "unplaced" }, ...others.map((box) => this.createBox(box))) : null,
        boxes.length ? null : h("p", { class: "dim" }, "Nothing on this slide can be displayed."),
      ),
      notes ? h("details", {}, h("summary", {}, "Notes"), h("p", {}, notes)) : null,
    );
  }

  createBox(box) {
    const [left, top, width, height] = box.position ?? [];
    const style = box.position
      ? `left: ${left}%; top: ${top}%; width: ${width}%; ${box.kind === "image" ? "height" : "min-height"}: ${height}%; max-height: ${100 - top}%`
      : null;
    return h("div", { class: `box ${box.kind}${box.title ? " title" : ""}`, style }, ...this.boxContent(box));
  }

  boxContent(box) {
    const { kind } = box;
    if (kind === "image") return [this.imageElement(box)];
    if (kind === "table") return [h("table", {}, h("tbody", {}, ...box.rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell))))))];
    if (kind === "other") return [h("span", { class: "dim" }, `${box.name}, cannot be displayed`)];
    return box.lines.map(([level, points, bold, text]) =>
      h(
        "p",
        {
          style: `font-size: ${((100 * (points || (box.title ? FONT_SIZES.title : Math.max(12, FONT_SIZES.text - 2 * level)))) / SLIDE_HEIGHT).toFixed(2)}cqh; margin-left: ${level * 1.2}em; ${bold ? "font-weight: 650" : ""}`,
        },
        text,
      ),
    );
  }

  imageElement({ path, displayable, name }) {
    if (!displayable) return h("span", { class: "dim" }, `${name || "image"}, cannot be displayed`);
    const image = h("img", { src: this.file.view({ image: path }), alt: name, loading: "lazy" });
    image.addEventListener("error", () => image.replaceWith(h("span", { class: "dim" }, `${name}, cannot be displayed`)));
    return image;
  }
}
