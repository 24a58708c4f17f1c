// Uploads of files and folders to a run's workspace, a few at a time.

import { h, icon, loadStyles } from "../core/dom.js";
import { apiUrl, showRun, emit, on, runApiUrl, currentRun } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { findMissing } from "../tree/loader.js";
import { BatchChip, FileChip } from "./chips.js";
import { fromFiles, fromTransfer, pastedFiles } from "../core/drop_reader.js";
import { Upload } from "./resumable_upload.js";

const MAX_ACTIVE = 3; // browsers allow six connections, and the run's stream uses one
const MAX_CHIPS = 6; // larger batches show totals only
const waiting = [];
let preparing = 0; // chosen, but not queued yet
let active = 0;
let draft = null;

export const pendingUploads = () => preparing + active + waiting.length;

/** @type {Set<FileChip | BatchChip>} */
const chipSet = new Set();

/** The paths of what the model is to see with the message, encoded; null for all pictures. */
export function chosenPictures() {
  const attached = [...chipSet].filter((chip) => chip.element.isConnected);
  return attached.some((chip) => chip.isChanged) ? attached.flatMap((chip) => chip.shownPaths()) : null;
}

/** The target run; two quick drops share one draft. */
async function ensureRun() {
  if (currentRun.id) return;
  draft ??= fetchJson(apiUrl("runs"), { method: "POST", repeatable: true }).finally(() => (draft = null));
  const { run } = await draft;
  if (currentRun.id) return;
  emit("draft", run);
  showRun(run);
}

export function mountUploads(element) {
  loadStyles("uploads/uploads.css");
  const chips = element.querySelector(".chips");
  const clear = () => pendingUploads() || chips.replaceChildren();
  mountFileInputs(element);
  on("upload", ({ files, items, folder = "input", onUploaded }) => {
    const contents = items ? fromTransfer(items, folder) : fromFiles(files, folder);
    startUploads(contents, items ? items.files.length || 1 : files.length, onUploaded);
  });
  on("settings", () => {
    for (const chip of chipSet) chip.showPicture();
  });
  on("message-sent", clear);
  on("reset", clear);
  on("workspace", ({ folders }) => {
    for (const chip of chipSet) {
      if (!chip.element.isConnected) chipSet.delete(chip);
      else prune(chip, folders);
    }
  });
  mountDrop();
  mountPaste();

  async function startUploads(contents, count, onUploaded) {
    if (!count) return;
    preparing += count;
    emit("uploads");
    try {
      const [resolved] = await Promise.all([contents, ensureRun()]);
      await Promise.all(resolved.folders.map(makeFolder));
      queue(resolved, onUploaded);
    } catch (error) {
      emit("upload-failed", error.message);
    } finally {
      preparing -= count;
    }
    startNext();
  }

  /** Upload files; `onUploaded` receives the path of each, encoded. */
  function queue({ items, name }, onUploaded) {
    const batched = items.length > MAX_CHIPS || name;
    const uploads = items.map(({ file, path }) => Object.assign(new Upload(runApiUrl("uploads"), file, path), { onUploaded }));
    const newChips = batched ? [createChip(uploads, name)] : uploads.map((each) => createChip([each]));
    chips.append(...newChips.map(({ element: each }) => each));
    waiting.push(...uploads);
  }

  /** One chip for a batch, updated at most once per frame. */
  function createChip(uploads, name) {
    const actions = { onRemove: () => remove(chip), onRetry: () => retry(chip.uploads) };
    const chip = name !== undefined ? new BatchChip(uploads, name, actions) : new FileChip(uploads[0], actions);
    chipSet.add(chip);
    let frame = 0;
    const show = () => (frame ||= requestAnimationFrame(() => ((frame = 0), chip.show())));
    for (const each of uploads) each.onChange = show;
    chip.show();
    return chip;
  }
}

/** Remove files that were deleted or moved meanwhile. */
async function prune(chip, folders) {
  const paths = chip.uploadedPaths(folders);
  if (!paths.length) return;
  const deleted = await findMissing(paths).catch(() => new Set());
  if (deleted.size) chip.removePaths(deleted);
}

async function makeFolder(path) {
  await fetchJson(runApiUrl("changes"), { method: "POST", body: JSON.stringify({ operation: "create_folder", path, merge: true }), repeatable: true });
}

async function startNext() {
  while (active < MAX_ACTIVE && waiting.length) {
    active++;
    runUpload(waiting.shift());
  }
  emit("uploads");
}

async function runUpload(each) {
  await each.send();
  active--;
  if (each.state === "failed") emit("upload-failed", each.error);
  if (each.state === "done") each.onUploaded?.(each.entry.path);
  startNext();
}

function retry(uploads) {
  const failed = uploads.filter(({ state }) => state === "failed");
  for (const each of failed) each.setState("waiting");
  waiting.push(...failed);
  startNext();
}

async function remove(chip) {
  const { uploads } = chip;
  for (const each of uploads) {
    const at = waiting.indexOf(each);
    if (at >= 0) waiting.splice(at, 1);
  }
  chip.element.remove();
  emit("uploads");
  document.querySelector("#task textarea").focus();
  for (const each of uploads) await each.cancel();
}

function mountFileInputs(element) {
  const input = element.querySelector("input");
  const choose = element.querySelector(".choose");
  const folder = h("input", { type: "file", hidden: true, webkitdirectory: true, multiple: true, "aria-label": "Folder to attach" });
  const chooseFolder = h(
    "button",
    { class: "quiet choose-folder", "aria-label": "Attach folder", title: "Attach folder", onclick: () => folder.click() },
    icon("folder"),
  );
  input.after(folder);
  choose.prepend(icon("attach"));
  choose.after(chooseFolder);
  choose.addEventListener("click", () => input.click());
  for (const each of [input, folder]) {
    each.addEventListener("change", () => {
      emit("upload", { files: [...each.files] });
      each.value = "";
    });
  }
}

function mountDrop() {
  const words = h("span", {}, "Drop files and folders here to upload them");
  const overlay = h("div", { class: "drop-overlay", hidden: true }, words);
  document.body.append(overlay);
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  on("drop-target", (folder) => folder !== null && (overlay.hidden = true));
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    overlay.hidden = false;
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget || (overlay.hidden = true));
  document.addEventListener("drop", (event) => {
    overlay.hidden = true;
    if (!hasFiles(event)) return;
    event.preventDefault();
    emit("upload", { items: event.dataTransfer });
  });
}

function mountPaste() {
  document.addEventListener("paste", (event) => {
    const other = /** @type {Element} */ (event.target).closest?.("input, textarea, [contenteditable]");
    if (document.querySelector("dialog[open]") || (other && !other.closest("#task"))) return;
    const files = pastedFiles(event);
    if (files.length) emit("upload", { files });
  });
}
