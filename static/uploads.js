// Files and folders on their way into the run's workspace, a few at a time.

import { h, icon, styled } from "./dom.js";
import { api, ask, attach, emit, on, runApi, session } from "./session.js";
import { BundleChip, FileChip } from "./uploads/chips.js";
import { fromFiles, fromTransfer, named } from "./uploads/gifts.js";
import { Sending } from "./uploads/sending.js";

const AT_ONCE = 3; // a browser has six connections, and the run's stream is one
const CHIPS = 6; // of more that come together the totals are told
const waiting = [];
let coming = 0; // given, but not in the queue yet
let sending = 0;
let draft = null;

export const underWay = () => coming + sending + waiting.length;

/** The run that files go to; one draft, also where two drops follow fast. */
async function someRun() {
  if (session.run) return;
  draft ??= ask(api("runs"), { method: "POST" }).finally(() => (draft = null));
  attach((await draft).run);
}

export function mountUploads(element) {
  styled("uploads.css");
  const chips = element.querySelector(".chips");
  const singles = new Set();
  const clear = () => underWay() || chips.replaceChildren();
  mountChoosing(element);
  on("give", ({ files, items, folder = "input" }) => {
    const given = items ? fromTransfer(items, folder) : fromFiles(files, folder);
    give(given, items ? items.files.length || 1 : files.length);
  });
  on("asked", clear);
  on("reset", clear);
  on("workspace", ({ folders }) => {
    for (const chip of singles) {
      if (!chip.element.isConnected) singles.delete(chip);
      else if (chip.isIn(folders)) still(chip);
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
    const made = bundled ? [gather(sendings, name)] : sendings.map((each) => gather([each]));
    chips.append(...made.map(({ element: each }) => each));
    waiting.push(...sendings);
  }

  /** One chip for these, shown anew at most once a frame. */
  function gather(sendings, name) {
    const deeds = { onRemove: () => remove(sendings, chip), onRetry: () => retry(sendings) };
    const chip = name !== undefined ? new BundleChip(sendings, name, deeds) : new FileChip(sendings[0], deeds);
    if (name === undefined) singles.add(chip);
    let frame = 0;
    const show = () => (frame ||= requestAnimationFrame(() => ((frame = 0), chip.show())));
    for (const each of sendings) each.onChange = show;
    chip.show();
    return chip;
  }
}

/** A file that was deleted or moved meanwhile is given no more. */
async function still(chip) {
  const entry = await ask(runApi(`entries/${chip.sending.entry.path}`)).catch(() => undefined);
  if (entry === null) chip.element.remove();
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

async function remove(sendings, chip) {
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
  const chooseFolder = h("button", { type: "button", class: "quiet choose-folder", "aria-label": "Attach a folder", title: "Attach a folder", onclick: () => folder.click() }, icon("folder"));
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
  const words = h("span", {}, "Drop files and folders for the model here");
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

/** Files and pictures of the clipboard; where it holds text too, the text is meant. */
function mountPaste() {
  document.addEventListener("paste", (event) => {
    const { files, types } = event.clipboardData ?? {};
    const other = event.target.closest?.("input, textarea, [contenteditable]");
    if (!files?.length || types.includes("text/plain") || document.querySelector("dialog[open]")) return;
    if (other && !other.closest("#task")) return;
    event.preventDefault();
    emit("give", { files: [...files].map(named) });
  });
}
