// Uploads of files and folders to a run's workspace, a few at a time.

import { h, icon, styled } from "../core/dom.js";
import { api, ask, attach, emit, on, runApi, session } from "../core/session.js";
import { missing } from "../tree/loader.js";
import { BundleChip, FileChip } from "./chips.js";
import { fromFiles, fromTransfer, pastedFiles } from "./drop_reader.js";
import { Sending } from "./resumable_upload.js";

const AT_ONCE = 3; // browsers allow six connections, and the run's stream uses one
const CHIPS = 6; // larger batches show totals only
const waiting = [];
let coming = 0; // chosen, but not queued yet
let sending = 0;
let draft = null;

export const underWay = () => coming + sending + waiting.length;

/** The target run; two quick drops share one draft. */
async function someRun() {
  if (session.run) return;
  draft ??= ask(api("runs"), { method: "POST" }).finally(() => (draft = null));
  const { run } = await draft;
  if (session.run) return;
  emit("draft", run);
  attach(run);
}

export function mountUploads(element) {
  styled("uploads/uploads.css");
  const chips = element.querySelector(".chips");
  const made = new Set();
  const clear = () => underWay() || chips.replaceChildren();
  mountChoosing(element);
  on("give", ({ files, items, folder = "input" }) => {
    const given = items ? fromTransfer(items, folder) : fromFiles(files, folder);
    give(given, items ? items.files.length || 1 : files.length);
  });
  on("asked", clear);
  on("reset", clear);
  on("workspace", ({ folders }) => {
    for (const chip of made) {
      if (!chip.element.isConnected) made.delete(chip);
      else prune(chip, folders);
    }
  });
  mountDrop();
  mountPaste();

  async function give(promised, count) {
    if (!count) return;
    coming += count;
    emit("uploads");
    try {
      const [given] = await Promise.all([promised, someRun()]);
      await Promise.all(given.folders.map(makeFolder));
      queue(given);
    } catch (error) {
      emit("not-sent", error.message);
    } finally {
      coming -= count;
    }
    next();
  }

  function queue({ items, name }) {
    const bundled = items.length > CHIPS || name;
    const sendings = items.map(({ file, path }) => new Sending(runApi("uploads"), file, path));
    const gathered = bundled ? [gather(sendings, name)] : sendings.map((each) => gather([each]));
    chips.append(...gathered.map(({ element: each }) => each));
    waiting.push(...sendings);
  }

  /** One chip for a batch, updated at most once per frame. */
  function gather(sendings, name) {
    const deeds = { onRemove: () => remove(chip), onRetry: () => retry(chip.sendings) };
    const chip = name !== undefined ? new BundleChip(sendings, name, deeds) : new FileChip(sendings[0], deeds);
    made.add(chip);
    let frame = 0;
    const show = () => (frame ||= requestAnimationFrame(() => ((frame = 0), chip.show())));
    for (const each of sendings) each.onChange = show;
    chip.show();
    return chip;
  }
}

/** Remove files that were deleted or moved meanwhile. */
async function prune(chip, folders) {
  const paths = chip.arrivedIn(folders);
  if (!paths.length) return;
  const gone = await missing(paths).catch(() => new Set());
  if (gone.size) chip.forget(gone);
}

async function makeFolder(path) {
  const headers = { "Content-Type": "application/json" };
  await ask(runApi("changes"), { method: "POST", headers, body: JSON.stringify({ do: "folder", path, merge: true }) });
}

async function next() {
  while (sending < AT_ONCE && waiting.length) {
    sending++;
    one(waiting.shift());
  }
  emit("uploads");
}

async function one(each) {
  await each.send();
  sending--;
  if (each.state === "failed") emit("not-sent", each.error);
  next();
}

function retry(sendings) {
  const failed = sendings.filter(({ state }) => state === "failed");
  for (const each of failed) each.become("waiting");
  waiting.push(...failed);
  next();
}

async function remove(chip) {
  const { sendings } = chip;
  for (const each of sendings) {
    const at = waiting.indexOf(each);
    if (at >= 0) waiting.splice(at, 1);
  }
  chip.element.remove();
  emit("uploads");
  document.querySelector("#task textarea").focus();
  for (const each of sendings) await each.cancel();
}

function mountChoosing(element) {
  const input = element.querySelector("input");
  const choose = element.querySelector(".choose");
  const folder = h("input", { type: "file", hidden: true, webkitdirectory: true, multiple: true, "aria-label": "Folder to attach" });
  const chooseFolder = h("button", { type: "button", class: "quiet choose-folder", "aria-label": "Attach folder", title: "Attach folder", onclick: () => folder.click() }, icon("folder"));
  input.after(folder);
  choose.prepend(icon("clip"));
  choose.after(chooseFolder);
  choose.addEventListener("click", () => input.click());
  for (const each of [input, folder]) {
    each.addEventListener("change", () => {
      emit("give", { files: [...each.files] });
      each.value = "";
    });
  }
}

function mountDrop() {
  const words = h("span", {}, "Drop files and folders here to upload them");
  const veil = h("div", { class: "veil", hidden: true }, words);
  document.body.append(veil);
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  on("drop-folder", (folder) => folder !== null && (veil.hidden = true));
  document.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    veil.hidden = false;
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget || (veil.hidden = true));
  document.addEventListener("drop", (event) => {
    veil.hidden = true;
    if (!carries(event)) return;
    event.preventDefault();
    emit("give", { items: event.dataTransfer });
  });
}

function mountPaste() {
  document.addEventListener("paste", (event) => {
    const other = event.target.closest?.("input, textarea, [contenteditable]");
    if (document.querySelector("dialog[open]") || (other && !other.closest("#task"))) return;
    const files = pastedFiles(event);
    if (files.length) emit("give", { files });
  });
}
