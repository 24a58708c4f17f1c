// Upload chips: one per file, or one for a batch.

import { fetchDocumentInfo, formatDocumentInfo, isScan, mayHaveText } from "../core/run/document_info.js";
import { h, icon, iconButton } from "../core/dom.js";
import { formatBytes, formatCount, formatNumber, plural, formatSeconds } from "../core/format.js";
import { modelInfo, pdfsOfMessage, tokensOfPages } from "../core/run/model_info.js";
import { isBelow } from "../core/paths.js";
import { Rate } from "./resumable_upload.js";

const PDF = /\.pdf$/i;
const PICTURE = /\.(png|jpe?g|gif|webp|avif|bmp|tiff?|svg|ico)$/i;

/** Common parts: name, message, progress bar, Retry and Remove. */
class UploadChip {
  constructor(iconName, name, uploads, { onRemove, onRetry }) {
    this.uploads = uploads;
    this.rate = new Rate();
    this.name = h("b", { dir: "auto" }, name);
    this.status = h("span", { class: "num" }, "waiting");
    this.info = h("span", { class: "more" });
    this.bar = h("span", { class: "done", role: "progressbar", "aria-label": `Uploading ${name}`, "aria-valuemin": 0, "aria-valuemax": 100 });
    this.retry = h("button", { class: "quiet retry", hidden: true, onclick: onRetry }, "Retry");
    this.remove = iconButton("close", `Remove ${name}`, onRemove, { class: "quiet" });
    this.element = h("span", { class: "chip upload" }, icon(iconName), this.name, this.status, this.info, this.retry, this.remove, this.bar);
  }

  /** Show percentage, rate and time left. */
  progress(sent, size, before = "") {
    const percent = Math.floor((100 * sent) / (size || 1));
    const rate = this.rate.update(performance.now(), sent);
    const parts = [before, `${percent}%`];
    if (rate && sent < size) parts.push(`${formatBytes(rate)}/s`, `${formatSeconds(Math.max(1, (size - sent) / rate)).replace(/\.\d s$/, " s")} left`);
    this.setStatus(parts.filter(Boolean).join(" · "), percent);
  }

  /** Show the state of the uploads; subclasses say how. */
  show() {}

  /** Show whether the model sees what was uploaded, if the user can choose. */
  showPicture() {}

  setStatus(text, percent = null) {
    if (this.status.textContent !== text) this.status.textContent = text;
    this.bar.hidden = percent === null;
    if (percent === null) return;
    this.bar.style.setProperty("--part", `${percent}%`);
    this.bar.setAttribute("aria-valuenow", percent);
  }

  /** The uploaded paths in or below these folders (or all), once all have arrived. */
  uploadedPaths(folders) {
    if (this.uploads.some(({ active }) => active)) return [];
    const paths = this.uploads.filter(({ state }) => state === "done").map(({ entry }) => entry.path);
    return folders ? paths.filter((path) => folders.some((folder) => isBelow(path, folder))) : paths;
  }

  /** Remove deleted paths. */
  removePaths(deleted) {
    this.uploads = this.uploads.filter(({ state, entry }) => state !== "done" || !deleted.has(entry.path));
    if (this.uploads.length) this.show();
    else this.element.remove();
  }

  setFailed(failed) {
    this.element.classList.toggle("bad", failed);
    this.retry.hidden = !failed;
  }
}

/** Chip of one file. */
export class FileChip extends UploadChip {
  constructor(upload, actions) {
    super("file", upload.name, [upload], actions);
    this.upload = upload;
    /** @type {HTMLButtonElement | null} */
    this.asPicture = null; // pressed if the model is to see the file as well
    /** @type {boolean | null} */
    this.chosen = null; // by the user; null for the usual
    this.isPdf = false;
    /** @type {any} */
    this.about = {}; // as the server describes the document
  }

  /** Let the user choose whether the model sees a picture, or the pages of a PDF, and not only has the file. */
  offerPicture(name) {
    this.isPdf = PDF.test(name);
    if (this.asPicture || !(this.isPdf || PICTURE.test(name))) return;
    const { isPdf } = this;
    const what = isPdf ? "Its first pages are sent as pictures" : "Sent as a picture, too; released: as a file only";
    const onclick = () => {
      this.chosen = !this.isShown;
      this.showPicture();
    };
    const attributes = { class: "quiet as-picture", title: `${what}, if the model takes pictures`, onclick };
    this.asPicture = h(
      "button",
      { ...attributes, "aria-label": `${isPdf ? "Pages" : "Picture"} of ${name} for the model` },
      icon("image"),
      isPdf ? "Pages" : "Picture",
    );
    this.retry.before(this.asPicture);
    this.showPicture();
  }

  showPicture() {
    this.asPicture?.setAttribute("aria-pressed", String(this.isShown));
    this.showInfo();
  }

  /** The paths of what the model is to see. */
  shownPaths() {
    return this.isShown ? this.uploadedPaths() : [];
  }

  /** Whether the model sees the file unless the user chooses otherwise. */
  get usual() {
    return !this.isPdf || pdfsOfMessage(isScan(this.about)).pages;
  }

  get isShown() {
    return this.asPicture !== null && (this.chosen ?? this.usual);
  }

  /** Whether the user has changed what the model sees of the file. */
  get isChanged() {
    return this.asPicture !== null && this.isShown !== this.usual;
  }

  show() {
    const { upload } = this;
    const { state, sent, size, entry } = upload;
    this.setFailed(state === "failed");
    if (state === "waiting") this.setStatus("waiting", 0);
    else if (state === "sending") this.progress(sent, size);
    else if (state === "retrying") this.setStatus("connection lost, retrying", Math.floor((100 * sent) / (size || 1)));
    else if (state === "failed") this.setStatus("upload failed");
    else if (state === "done") this.showUploaded(entry);
  }

  showUploaded(entry) {
    this.setStatus(formatBytes(entry.size));
    this.name.textContent = entry.name;
    this.offerPicture(entry.name);
    if (this.infoRequested || !mayHaveText(entry.name)) return;
    this.infoRequested = true;
    fetchDocumentInfo(entry.path).then(
      (info) => {
        this.about = info;
        this.showPicture();
      },
      () => {},
    );
  }

  /** Show the size of the document, and the tokens of its pages if the model sees them. */
  async showInfo() {
    const { about } = this;
    const seesPages = () => this.isPdf && this.isShown && Boolean(about.pages);
    const model = seesPages() ? await modelInfo() : null;
    if (about !== this.about) return;
    const pages = model && seesPages() ? tokensOfPages(about.pages, model) : 0;
    const scan = this.isShown ? NO_TEXT : `${NO_TEXT}. “Pages” lets the model see its first ones.`;
    const info = formatDocumentInfo(about) || (isScan(about) ? scan : "");
    this.info.textContent = [info, pages && `≈ ${formatCount(pages)} as pages`].filter(Boolean).join(" · ");
  }
}

const NO_TEXT = "No text: it may be a scan";

/** Chip of a batch, with totals. The model sees its pictures. */
export class BatchChip extends UploadChip {
  isChanged = false;

  shownPaths() {
    return this.uploadedPaths().filter((path) => PICTURE.test(path) || (PDF.test(path) && pdfsOfMessage().pages));
  }

  constructor(uploads, name, actions) {
    super(name ? "folder" : "attach", name || plural(uploads.length, "file"), uploads, actions);
    this.titled = Boolean(name);
  }

  show() {
    const { uploads } = this;
    const size = uploads.reduce((sum, each) => sum + each.size, 0);
    if (!this.titled) this.name.textContent = plural(uploads.length, "file");
    const count = (state) => uploads.filter((each) => each.state === state).length;
    const [done, failed] = [count("done"), count("failed")];
    const sent = uploads.reduce((sum, each) => sum + each.sent, 0);
    const active = uploads.some((each) => each.active);
    this.setFailed(!active && failed > 0);
    if (active && !sent && !done) this.setStatus("waiting", 0);
    else if (active) this.progress(sent, size, `${formatNumber(done)} of ${formatNumber(uploads.length)}`);
    else if (failed) this.setStatus(`${formatNumber(failed)} of ${plural(uploads.length, "file")} failed`);
    else this.setStatus([this.titled ? plural(done, "file") : "", formatBytes(size)].filter(Boolean).join(" · "));
  }
}
