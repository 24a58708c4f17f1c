// The workspace panel: the tree follows file changes, a click previews a file.

import { appear, h } from "../core/dom.js";
import { Preview } from "../preview/preview.js";
import { ask, emit, on, runApi, session } from "../core/session.js";
import { Tree } from "../tree/tree.js";
import { Bar } from "../tree/actions/toolbar.js";
import { Changes } from "../tree/actions/operations.js";
import { Deeds } from "../tree/actions/actions.js";
import { divide } from "./divider.js";
import { isBelow } from "../tree/model.js";
import { Keys } from "../tree/keyboard.js";
import { Pointer } from "../tree/pointer.js";

const SHOWS_ITSELF = /^output\/.*\.(png|jpe?g|gif|webp|avif|svg|html?|pdf|midi?|wav|mp3|ogg|opus|flac|m4a|mp4|webm|mov)$/i;
const PAUSE = 400; // minimum ms between two requests for the newest image
const SHARE = 25; // and this many times the duration of the last request

class Workspace {
  constructor(root) {
    this.root = root;
    this.sheet = root.querySelector(".sheet");
    this.preview = new Preview(root.querySelector(".preview"), {
      onMove: (by) => this.tree.step(by),
      onClose: () => this.closed(),
      changedIn: (path, until) => this.tree.marks.changedIn(path, until),
    });
    this.tree = new Tree(root.querySelector(".tree"), {
      onLook: (path, entry, byHand) => this.look(path, entry, byHand),
      onDrawn: () => this.bar?.show(),
    });
    this.changes = new Changes(this.tree);
    this.deeds = new Deeds(this.tree, this.changes, { upload: (folder) => this.upload(folder) });
    this.bar = new Bar(root, this.tree, this.deeds);
    new Keys(this.tree, this.deeds, this.changes);
    new Pointer(this.tree, this.deeds, this.changes, this.bar.crumbs);
    divide(root.querySelector(".divider.lying"), root, "tree", { least: 15, most: 80, usual: 38 });
    appear("#studio").then((frame) => divide(root.querySelector(".divider.upright"), frame, "conversation", { least: 30, most: 80, usual: 54 }));
    root.querySelector(".upload").addEventListener("click", () => document.querySelector(".attachments .choose").click());
    this.sheet.addEventListener("click", () => this.unfold(!root.classList.contains("unfolded")));
    on("reset", () => this.reset());
    on("workspace", ({ folders }) => this.changed(folders));
    on("changed", ({ step, changes }) => {
      this.tree.note(step, changes);
      if (changes.some(({ path }) => path === this.preview.path)) this.preview.noted();
    });
    on("look", (path) => {
      this.unfold(true);
      this.tree.choose(path);
    });
    on("past", ({ path, step, compared }) => this.lookBack(path, step, compared));
    this.reset();
  }

  /** Show a file as of a step, or the changes the step made to it. */
  lookBack(path, step, compared = false) {
    this.unfold(true);
    this.byHand = true;
    this.tree.seen(path, step);
    this.tree.point(path);
    this.preview.show(path, null, step, compared);
  }

  reset() {
    this.tree.reset();
    this.changes.reset();
    this.preview.close();
    this.byHand = false;
    this.newest = 0;
    this.root.classList.toggle("empty", !session.run);
    this.bar.show();
  }

  /** Let the user choose files for a folder. */
  upload(folder) {
    const input = h("input", { type: "file", multiple: true });
    input.addEventListener("change", () => emit("give", { files: [...input.files], folder }));
    input.click();
  }

  unfold(open) {
    this.root.classList.toggle("unfolded", open);
    this.sheet.setAttribute("aria-expanded", String(open));
  }

  look(path, entry, byHand) {
    if (this.byHand && !byHand) return; // the user was faster
    this.byHand ||= byHand;
    this.preview.show(path, entry);
  }

  closed() {
    if (!this.tree) return;
    this.tree.current = null;
    this.tree.draw();
  }

  /** Files were written in these folders, or anywhere. */
  async changed(folders) {
    const among = (wanted) => !folders || folders.some(wanted);
    if (this.preview.path && among((folder) => isBelow(this.preview.path, folder))) this.again();
    await this.tree.refresh(folders);
    if (among((folder) => folder === "output" || isBelow(folder, "output"))) this.newestFirst();
  }

  /** Reload the shown file if it changed, and report if it was deleted. */
  async again() {
    const { path, file } = this.preview;
    if (file.step !== null) return; // old versions do not change
    const entry = await ask(runApi(`entries/${path}`)).catch(() => undefined);
    if (path !== this.preview.path || entry === undefined) return;
    if (entry) this.preview.show(path, entry);
    else this.preview.gone();
  }

  /** Show new media in `output/` until the user selects a file. */
  async newestFirst() {
    if (this.byHand || !session.run) return;
    if (this.waits) return void (this.more = true);
    this.waits = true;
    const query = new URLSearchParams({ folder: "output", sort: "time", count: 50 });
    const [run, began] = [session.run, performance.now()];
    const { entries } = await ask(runApi(`files?${query}`)).catch(() => ({ entries: [] }));
    setTimeout(() => this.rested(), Math.max(PAUSE, SHARE * (performance.now() - began)));
    const last = entries.find((entry) => entry.kind === "file" && SHOWS_ITSELF.test(entry.path));
    if (this.byHand || run !== session.run || !last || last.changed <= this.newest) return;
    this.newest = last.changed;
    this.tree.choose(last.path, false);
  }

  rested() {
    this.waits = false;
    if (this.more) this.newestFirst();
    this.more = false;
  }
}

export function mountWorkspace(element) {
  new Workspace(element.querySelector(".workspace"));
}
