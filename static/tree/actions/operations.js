// File operations on the server, with a notification and undo.

import { copyText, h } from "../../core/dom.js";
import { formatNumber, plural, decodePath } from "../../core/format.js";
import { runApiUrl, currentRun } from "../../core/event_stream.js";
import { fetchJson } from "../../core/loading/fetch.js";
import { parentOf } from "../../core/paths.js";
import { pickFolder } from "./folder_picker.js";
import { askName, editName } from "./rename_field.js";
import { showToast } from "./toast.js";

const MAX_URL_LENGTH = 30_000; // characters of a URL

const fileName = (path) => decodePath(path.slice(path.lastIndexOf("/") + 1));

const folderName = (folder) => (folder ? `“${fileName(folder)}”` : "the workspace");

const describeEntries = (entries) => (entries.length === 1 ? `“${entries[0].name}”` : plural(entries.length, "item"));

export class FileOperations {
  constructor(tree) {
    this.tree = tree;
    this.undos = [];
  }

  reset() {
    this.undos = [];
  }

  /** Request a change; on refusal, notify the user and return null. */
  async change(body, message) {
    try {
      const { paths, undo, failures } = await fetchJson(runApiUrl("changes"), { method: "POST", body: JSON.stringify(body) });
      if (undo) this.undos.push(undo);
      const text = typeof message === "function" ? message(paths) : message;
      if (failures.length) showToast(`Undone for ${plural(paths.length, "item")}; ${formatNumber(failures.length)} failed: ${failures[0]}`, { bad: true });
      else if (text) showToast(text, { undo: undo && (() => this.undo(undo)) });
      this.tree.refresh();
      return paths;
    } catch (error) {
      showToast(error.message, { bad: true });
      return null;
    }
  }

  undo(token = this.undos.at(-1)) {
    if (!token) return;
    this.undos = this.undos.filter((each) => each !== token);
    this.change({ operation: "undo", undo: token }, "Undone.");
  }

  async remove(entries) {
    if (entries.length) await this.change({ operation: "remove", paths: entries.map(({ path }) => path) }, `Deleted ${describeEntries(entries)}.`);
  }

  async rename(entry) {
    const place = this.tree.model.placeOf(entry.path);
    if (place < 0) return;
    this.tree.view.scrollTo(place);
    const row = this.tree.view.rowOf(entry.path);
    const name = await editName(row, entry);
    row.element.focus({ preventScroll: true });
    if (!name) return;
    const paths = await this.change(
      { operation: "rename", path: entry.path, name: encodeURIComponent(name) },
      ([path]) => `Renamed “${entry.name}” to “${fileName(path)}”.`,
    );
    await this.follow(entry.path, paths);
  }

  /** Create a file or folder (`kind`) and focus it. */
  async create(kind, folder) {
    const title = `New ${kind} in ${folder ? folderName(folder) : "the workspace"}`;
    const value = kind === "file" ? "new.txt" : "new folder";
    const name = await askName(this.tree.element, { title, value, top: this.boxTop(folder) });
    if (!name) return void this.tree.element.querySelector("[tabindex='0']")?.focus();
    const path = [folder, ...name.split("/").map(encodeURIComponent)].filter(Boolean).join("/");
    const paths = await this.change({ operation: `create_${kind}`, path });
    if (!paths) return;
    if (kind === "file") await this.tree.openFile(paths[0]);
    else await this.tree.reveal(paths[0]);
    if (this.tree.model.placeOf(paths[0]) >= 0) this.tree.goTo(this.tree.model.placeOf(paths[0]));
  }

  boxTop(folder) {
    const box = this.tree.view.rowOf(folder)?.element.getBoundingClientRect();
    const frame = this.tree.element.getBoundingClientRect();
    return box ? Math.max(0, Math.min(box.bottom - frame.top, frame.height - 70)) : 4;
  }

  async move(entries, folder) {
    const movable = entries.filter(({ path }) => parentOf(path) !== folder && path !== folder && !folder.startsWith(`${path}/`));
    if (!movable.length) return;
    const paths = await this.change(
      { operation: "move", paths: movable.map(({ path }) => path), to: folder },
      `Moved ${describeEntries(movable)} to ${folderName(folder)}.`,
    );
    if (movable.length === 1) await this.follow(movable[0].path, paths);
  }

  async moveTo(entries) {
    const folder = await pickFolder(`Move ${describeEntries(entries)} to`, parentOf(entries[0].path));
    if (folder !== null) await this.move(entries, folder);
  }

  /** Keep the preview and focus on files that were moved. */
  async follow(before, paths) {
    if (!paths?.length) return;
    const { tree } = this;
    if (tree.current === before) return void (await tree.openFile(paths[0]));
    await tree.reveal(paths[0]);
    if (tree.model.placeOf(paths[0]) >= 0) await tree.goTo(tree.model.placeOf(paths[0]));
  }

  cut(entries) {
    this.tree.cut = new Map(entries.map((entry) => [entry.path, entry]));
    this.tree.draw();
    showToast(`Cut ${describeEntries(entries)}. Paste ${entries.length === 1 ? "it" : "them"} into a folder.`);
  }

  async paste(folder) {
    const entries = [...this.tree.cut.values()];
    this.tree.cut = new Map();
    await this.move(entries, folder);
  }

  download(entries) {
    const [entry] = entries;
    if (entries.length === 1 && entry.kind === "file") return startDownload(runApiUrl(`files/${entry.path}${asOf()}`), entry.name);
    const query = new URLSearchParams([...entries.map(({ path }) => ["path", path]), ...pastStep()]);
    const address = runApiUrl(`zip?${query}`);
    if (address.length > MAX_URL_LENGTH) return showToast("Too many files are selected. Download their folder instead.", { bad: true });
    return startDownload(address);
  }

  /** Download the run with all its files, or the files as of the step that is shown. */
  downloadAll() {
    const step = new URLSearchParams(pastStep());
    startDownload(runApiUrl(step.size ? `zip?${step}` : "run.zip"));
  }

  async copyPaths(entries) {
    const text = entries.map(({ path }) => decodePath(path)).join("\n");
    await copyText(text, h("button")).then(() => showToast(entries.length === 1 ? `Copied “${text}”.` : `Copied ${plural(entries.length, "path")}.`));
  }

  openInNewTab(entry) {
    const query = new URLSearchParams({ run: currentRun.id, path: entry.path });
    if (currentRun.pastStep !== null) query.set("step", String(currentRun.pastStep));
    window.open(new URL(`look?${query}`, document.baseURI).href, "_blank", "noopener");
  }
}

/** The query of the step whose files are shown; empty for now. */
const pastStep = () => (currentRun.pastStep === null ? [] : [["step", `${currentRun.pastStep}`]]);

const asOf = () => (currentRun.pastStep === null ? "" : `?step=${currentRun.pastStep}`);

function startDownload(address, name = "") {
  const link = h("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
}
