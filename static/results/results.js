// Results at the end of a run: images, pages, audio and video inline, cards for other files, and
// the input files.

import { h, icon } from "../core/dom.js";
import { formatBytes, fileKind, formatNumber, plural } from "../core/format.js";
import { Gallery } from "./gallery.js";
import { MAX_FRAMES, pageFigure, closeFrames } from "./framed_result.js";
import { caption, downloadLink, openButton, rawUrl, fileVersion } from "./output_file.js";
import { fetchJson } from "../core/loading/fetch.js";

const POSTER = 0.1; // seconds: the first frame of a video is often black, and WebKit shows none without a time
const REFRESH_MS = 500; // ms between two requests while files are written
const ANSWER_FILE = "output/answer.txt";
const collator = new Intl.Collator(undefined, { numeric: true });
const byName = (one, other) => collator.compare(one.name, other.name);

/** How a file is shown: as image, page, audio, video or card. */
function displayType({ kind, name }) {
  const type = kind === "hex" ? fileKind(name) : kind;
  return { image: "image", svg: "image", html: "page", audio: "audio", video: "video" }[type] ?? "card";
}

/** The results of a run's last round, kept up to date. */
export class RunResults {
  /** `maxFrames` is the number of pages shown inline; the others are cards. */
  constructor(run, { maxFrames = MAX_FRAMES } = {}) {
    this.run = run;
    this.maxFrames = maxFrames;
    this.current = null;
    this.timer = 0;
    run.on("reset", () => this.forget());
    run.on("workspace", ({ folders }) => this.onFilesChanged(folders));
  }

  /** Show them in `place`; for the options see `Results`. */
  show(place, options) {
    this.current = new Results(this.run, place, { ...options, maxFrames: this.maxFrames });
    return this.current.show();
  }

  /** The round continues: remove the results of the previous one. */
  remove() {
    this.current?.place.remove();
    this.forget();
  }

  forget() {
    this.current = null;
    if (this.maxFrames) closeFrames();
  }

  onFilesChanged(folders) {
    if (!this.current || this.run.running || (folders && !folders.some((folder) => /^(output|input)(\/|$)/.test(folder)))) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.current?.show(), REFRESH_MS);
  }
}

class Results {
  /** `since` is the last step of the previous round; `answered`, whether the answer is shown above. */
  constructor(run, place, { since, answered, maxFrames }) {
    this.run = run;
    this.place = place;
    this.since = since;
    this.answered = answered;
    this.maxFrames = maxFrames;
    this.elements = new Map();
    this.lastAnswer = "";
    this.asked = 0; // how many answers were asked for
    this.shown = 0; // which of them is shown
    this.id = run.id;
  }

  /** Load the results; keep the elements already shown. */
  async show() {
    if (this.run.mode === "plain" || this.run.id !== this.id) return;
    this.asked += 1;
    const number = this.asked;
    try {
      const answer = await fetchJson(this.run.url("results"));
      const serialized = JSON.stringify(answer);
      if (number < this.shown || this.run.id !== this.id) return;
      this.shown = number;
      if (serialized === this.lastAnswer) return;
      this.lastAnswer = serialized;
      this.put(answer);
    } catch {
      // without its workspace, a run still has its timeline
    }
  }

  put({ outputs, inputs }) {
    for (const file of [...outputs.files, ...inputs.files]) file.run = this.run;
    const files = outputs.files.filter((file) => !(this.answered && file.path === ANSWER_FILE)).sort(byName);
    const newFiles = files.filter((file) => !this.since || file.step === null || file.step > this.since);
    const olderFiles = files.filter((file) => !newFiles.includes(file));
    const previous = this.elements;
    this.elements = new Map();
    const parts = [];
    if (newFiles.length) parts.push(this.part(this.since ? "New in this round" : "Results", newFiles, previous, outputs.more));
    if (olderFiles.length) parts.push(this.older(olderFiles, previous, newFiles.length ? 0 : outputs.more));
    if (parts.length) parts[0].querySelector("h3").after(downloadAllLink(this.run, files, outputs));
    if (inputs.files.length) parts.push(inputFiles(inputs));
    this.place.replaceChildren(...parts);
  }

  older(files, previous, more) {
    const part = this.part("Earlier results", files, previous, more);
    const existing = this.place.querySelector("details.before");
    const heading = part.querySelector("h3");
    const details = h(
      "details",
      { class: "before", open: existing?.open ?? false },
      h("summary", {}, icon("caret"), heading, h("small", { class: "num" }, plural(files.length, "file"))),
    );
    details.append(...part.childNodes);
    return details;
  }

  part(title, files, previous, more) {
    const ofType = (wanted) => files.filter((file) => displayType(file) === wanted);
    const part = h("section", { class: "part" }, h("h3", {}, title));
    const images = ofType("image");
    if (images.length) part.append(new Gallery(images, (file, make) => this.element(file, previous, make)).element);
    const addGroup = (group, name, make) => {
      const elements = group.map((file) => this.element(file, previous, make));
      if (elements.length) part.append(h("div", { class: name }, ...elements));
    };
    const pages = ofType("page");
    addGroup(pages.slice(0, this.maxFrames), "pages", pageFigure);
    addGroup(ofType("video"), "videos", videoPlayer);
    addGroup(ofType("audio"), "audios", audioPlayer);
    addGroup([...pages.slice(this.maxFrames), ...ofType("card")].sort(byName), "files", fileCard);
    if (more) part.append(h("p", { class: "rest" }, `and ${plural(more, "more file")} in output/`));
    return part;
  }

  /** The file's element, reused if the file is unchanged, so that a player keeps playing. */
  element(file, previous, make) {
    const key = `${file.path}?${fileVersion(file)}`;
    const element = previous.get(key) ?? make(file);
    this.elements.set(key, element);
    return element;
  }
}

function downloadAllLink(run, files, outputs) {
  const href = run.url("zip", { path: "output" });
  if (files.length < 2 || !href) return "";
  const size = outputs.more ? "" : ` (${formatBytes(outputs.files.reduce((sum, file) => sum + file.size, 0))})`;
  return h("a", { class: "quiet download-all", href, download: "" }, icon("download"), `Download all${size}`);
}

/** A player, replaced by a card if the browser cannot play the file. */
function mediaFigure(file, element, name) {
  const figure = h("figure", {}, element, caption(file));
  element.addEventListener("error", () => figure.replaceWith(fileCard(file, `This ${name} cannot be played in this browser.`)), { once: true });
  return figure;
}

const audioPlayer = (file) => mediaFigure(file, h("audio", { src: rawUrl(file), controls: true, preload: "metadata", "aria-label": file.name }), "audio file");

const videoPlayer = (file) =>
  mediaFigure(
    file,
    h("video", { src: `${rawUrl(file)}#t=${POSTER}`, controls: true, preload: "metadata", playsinline: true, "aria-label": file.name }),
    "video",
  );

function fileCard(file, message = "") {
  const { lines } = file;
  const body = message ? h("span", { class: "message" }, message) : lines.some((line) => line.trim()) ? h("span", { class: "lines" }, lines.join("\n")) : null;
  return h(
    "div",
    { class: `file${body ? "" : " bare"}` },
    openButton(file, { class: "name", title: file.name }, icon(iconName(file)), h("b", {}, file.name)),
    h("small", { class: "num" }, formatBytes(file.size)),
    downloadLink(file),
    body,
  );
}

const iconName = ({ kind, name }) => ({ html: "code", midi: "audio", audio: "audio", video: "video" })[kind] ?? fileKind(name);

function inputFiles({ files, more }) {
  const items = files.map((file) =>
    h(
      "li",
      {},
      openButton(file, { class: "chip", title: file.name }, icon(iconName(file)), h("b", {}, file.name), h("small", { class: "num" }, formatBytes(file.size))),
    ),
  );
  if (more) items.push(h("li", { class: "rest" }, `and ${formatNumber(more)} more`));
  return h("section", { class: "part inputs" }, h("h3", {}, "Your files"), h("ul", {}, ...items));
}
