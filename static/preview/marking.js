// Marks on a picture, boxes and arrows, that the user draws and sends with the picture as the next message.

import { h, iconButton } from "../core/dom.js";
import { currentRun, emit } from "../core/event_stream.js";
import { decodePath, formatNumber } from "../core/format.js";
import { source } from "../core/loading/source.js";

const SVG = "http://www.w3.org/2000/svg";
const COLOUR = "#d6242b";
const MAX_SIDE = 2000; // pixels of the picture that is sent
const MAX_MARKS = 20;
const SMALLEST = 0.01; // of the diagonal; what is drawn smaller was a click
const STEP = 0.02; // of a side, by an arrow key

/** Whether marks can be sent from this page: not from a report, a tab of one file or another's run. */
export const canMark = () => !source.bundled && currentRun.canEdit && Boolean(document.querySelector("#task textarea"));

/** The button that begins marking; null where marks cannot be sent. */
export function markButton(onclick) {
  const label = "Mark a place, and send it with your next message";
  return canMark() ? iconButton("edit", label, onclick, { class: "quiet icon-button mark" }) : null;
}

/** The two points of a mark, in the picture's coordinates. */
const ends = ({ from, to }) => [
  [Math.min(from[0], to[0]), Math.min(from[1], to[1])],
  [Math.max(from[0], to[0]), Math.max(from[1], to[1])],
];

export class Marking {
  /**
   * Lay a surface for marks over a picture: `overlay`, which the caller places and sizes.
   * @param {object} picture
   * @param {string} picture.path of the file, encoded
   * @param {string} picture.part of it, such as "page 3", or ""
   * @param {number | null} picture.step as of which the file is shown; null for now
   * @param {[number, number]} picture.size its width and height
   * @param {string} picture.unit of the size, in the plural
   * @param {() => Promise<CanvasImageSource & { naturalWidth: number, naturalHeight: number }>} picture.load
   * @param {() => void} picture.onEnd called when marking ends
   */
  constructor(picture) {
    this.picture = picture;
    const [width, height] = picture.size;
    this.width = width;
    this.height = height;
    this.diagonal = Math.hypot(this.width, this.height);
    this.marks = [];
    this.drawn = null; // the mark that the pointer draws
    this.overlay = document.createElementNS(SVG, "svg");
    for (const [name, value] of Object.entries({
      class: "marking",
      viewBox: `0 0 ${this.width} ${this.height}`,
      preserveAspectRatio: "none",
      tabindex: "0",
      role: "application",
      "aria-label": "Marks. Enter adds one, arrow keys move it, with Shift its end, Delete removes it.",
    }))
      this.overlay.setAttribute(name, value);
    this.overlay.addEventListener("pointerdown", (event) => this.onDown(event));
    this.overlay.addEventListener("pointermove", (event) => this.onMove(event));
    for (const name of ["pointerup", "pointercancel"]) this.overlay.addEventListener(name, (event) => this.onUp(event));
    this.overlay.addEventListener("keydown", (event) => this.onKey(event));
    this.kinds = ["Box", "Arrow"].map((name) => h("button", { class: "quiet", onclick: () => this.choose(name.toLowerCase()) }, name));
    this.undo = h("button", { class: "quiet", onclick: () => this.removeLast() }, "Undo");
    this.use = h("button", { class: "primary", onclick: () => this.send() }, "Use in message");
    this.bar = h(
      "div",
      { class: "marking-bar", role: "toolbar", "aria-label": "Marks" },
      ...this.kinds,
      this.undo,
      this.use,
      iconButton("close", "Stop marking", () => this.end()),
    );
    this.choose("box");
    this.show();
  }

  choose(kind) {
    this.kind = kind;
    for (const each of this.kinds) each.setAttribute("aria-pressed", String(each.textContent.toLowerCase() === kind));
  }

  /** The picture's coordinates of a pointer, within the picture. */
  pointOf({ clientX, clientY }) {
    const box = this.overlay.getBoundingClientRect();
    return this.within([((clientX - box.left) / box.width) * this.width, ((clientY - box.top) / box.height) * this.height]);
  }

  within([x, y]) {
    return [Math.max(0, Math.min(this.width, x)), Math.max(0, Math.min(this.height, y))];
  }

  onDown(event) {
    event.stopPropagation(); // it would move the picture
    if (event.button || this.marks.length >= MAX_MARKS) return;
    this.overlay.setPointerCapture(event.pointerId);
    const from = this.pointOf(event);
    this.drawn = { kind: this.kind, from, to: from };
    this.marks.push(this.drawn);
  }

  onMove(event) {
    if (!this.drawn) return;
    event.stopPropagation();
    this.drawn.to = this.pointOf(event);
    this.show();
  }

  onUp(event) {
    event.stopPropagation();
    const { drawn } = this;
    this.drawn = null;
    if (drawn && Math.hypot(drawn.to[0] - drawn.from[0], drawn.to[1] - drawn.from[1]) < SMALLEST * this.diagonal) this.marks.pop();
    this.show();
  }

  onKey(event) {
    const last = this.marks.at(-1);
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Escape") this.end();
    else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) this.addInMiddle();
    else if ((event.key === "Delete" || event.key === "Backspace") && last) this.removeLast();
    else if (by && last) this.move(last, by, event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  addInMiddle() {
    if (this.marks.length >= MAX_MARKS) return;
    const at = (share) => [this.width * share, this.height * share];
    this.marks.push({ kind: this.kind, from: at(0.375), to: at(0.625) });
    this.show();
  }

  move(mark, [x, y], onlyEnd) {
    const moved = (point) => this.within([point[0] + x * STEP * this.width, point[1] + y * STEP * this.height]);
    mark.to = moved(mark.to);
    if (!onlyEnd) mark.from = moved(mark.from);
    this.show();
  }

  removeLast() {
    this.marks.pop();
    this.show();
  }

  show() {
    this.undo.disabled = this.use.disabled = !this.marks.length;
    const shapes = this.marks.flatMap((mark, at) => {
      const outline = pathOf(mark, this.diagonal);
      const line = (colour, width) => shape("path", { d: outline, fill: "none", stroke: colour, "stroke-width": width, "stroke-linejoin": "round" });
      return [line("#fff", this.stroke * 2), line(COLOUR, this.stroke), ...(this.marks.length > 1 ? [this.label(mark, at + 1)] : [])];
    });
    this.overlay.replaceChildren(...shapes);
  }

  get stroke() {
    return Math.max(2, this.diagonal / 300);
  }

  label({ from: [x, y] }, number) {
    const size = this.diagonal / 40;
    const attributes = { x: x + size / 4, y: y + size, "font-size": size, fill: COLOUR, stroke: "#fff", "stroke-width": size / 8, "paint-order": "stroke" };
    const text = shape("text", { ...attributes, "font-family": "sans-serif", "font-weight": "bold" });
    text.textContent = String(number);
    return text;
  }

  /** Upload the marked picture, and write where the marks are into the message. */
  async send() {
    this.use.disabled = true;
    try {
      const file = new File([await this.drawPicture()], this.fileName, { type: "image/png" });
      const words = this.words();
      emit("upload", { files: [file], onUploaded: (path) => emit("compose", `${words} The marked picture is ${decodePath(path)}.`) });
      this.end();
    } catch {
      this.use.disabled = false;
      emit("notice", { text: "The marked picture could not be made: load the preview again, and mark it there." });
    }
  }

  get fileName() {
    const name = decodePath(this.picture.path.split("/").at(-1)).replace(/\.[^.]+$/, "");
    return [name, this.picture.part.replaceAll(" ", "-"), "marked"].filter(Boolean).join("-").concat(".png");
  }

  /** What is marked, with the coordinates. */
  words() {
    const { path, part, step, unit } = this.picture;
    const at = (point) => `(${point.map((each) => Math.round(each)).join(", ")})`;
    const marks = this.marks.map((mark, index) => {
      const named = this.marks.length > 1 ? `${mark.kind} ${index + 1}` : `${mark.kind === "box" ? "a" : "an"} ${mark.kind}`;
      if (mark.kind === "arrow") return `${named} to ${at(mark.to)} from ${at(mark.from)}`;
      const [first, second] = ends(mark);
      return `${named} from ${at(first)} to ${at(second)}`;
    });
    const where = [decodePath(path), part, step === null ? "" : `as it was after step ${step}`].filter(Boolean).join(", ");
    const size = `${formatNumber(Math.round(this.width))} × ${formatNumber(Math.round(this.height))} ${unit}`;
    return `In ${where} (${size}, from the top left) I marked ${marks.join(", ")}.`;
  }

  /** The picture with its marks as PNG. */
  async drawPicture() {
    const image = await this.picture.load();
    const scale = Math.min(1, MAX_SIDE / Math.max(image.naturalWidth, image.naturalHeight));
    const canvas = h("canvas", { width: Math.max(1, Math.round(image.naturalWidth * scale)), height: Math.max(1, Math.round(image.naturalHeight * scale)) });
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    const drawing = new XMLSerializer().serializeToString(this.overlay);
    const marks = new Image(canvas.width, canvas.height);
    marks.src = `data:image/svg+xml,${encodeURIComponent(drawing.replace("<svg", `<svg width="${canvas.width}" height="${canvas.height}"`))}`;
    await marks.decode();
    context.drawImage(marks, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    if (!blob) throw new Error("no picture");
    return blob;
  }

  end() {
    this.overlay.remove();
    this.bar.remove();
    this.picture.onEnd();
  }
}

function shape(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

/** The outline of a mark as an SVG path; `diagonal` is the picture's. */
function pathOf(mark, diagonal) {
  if (mark.kind === "box") {
    const [[left, top], [right, bottom]] = ends(mark);
    return `M${left} ${top}H${right}V${bottom}H${left}Z`;
  }
  const [[x, y], [tipX, tipY]] = [mark.from, mark.to];
  const angle = Math.atan2(tipY - y, tipX - x);
  const barb = (turn) => `${tipX - (diagonal / 30) * Math.cos(angle + turn)} ${tipY - (diagonal / 30) * Math.sin(angle + turn)}`;
  return `M${x} ${y}L${tipX} ${tipY}M${barb(0.5)}L${tipX} ${tipY}L${barb(-0.5)}`;
}
