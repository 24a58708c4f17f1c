// The files beside the run: the tree follows what is written, a click looks at a file.

import { appear, h } from "./dom.js";
import { Preview } from "./preview.js";
import { ask, emit, on, runApi, session } from "./session.js";
import { Tree } from "./tree.js";
import { Bar } from "./tree/bar.js";
import { Changes } from "./tree/changes.js";
import { Deeds } from "./tree/deeds.js";
import { divide } from "./tree/divider.js";
import { isBelow } from "./tree/forest.js";
import { Keys } from "./tree/keys.js";
import { Pointer } from "./tree/pointer.js";

const SHOWS_ITSELF = /^output\/.*\.(png|jpe?g|gif|webp|svg|wav|mp3|mp4|webm)$/i;
const PAUSE = 400; // ms between two looks for the newest picture, at least
const SHARE = 25; // and so many times as long as the last took

class Workspace {
  constructor(root) {
    this.root = root;
    this.sheet = root.querySelector(".sheet");
    this.preview = new Preview(root.querySelector(".preview"), {
      onMove: (by) => this.tree.step(by),
      onClose: () => this.closed(),
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
    on("changed", ({ step, changes }) => this.tree.note(step, changes));
    on("look", (path) => {
      this.unfold(true);
      this.tree.choose(path);
    });
    on("past", ({ path, step, compared }) => this.lookBack(path, step, compared));
    this.reset();
  }

  /** Look at a file as it was after a step, or at how the step changed it. */
  lookBack(path, step, compared = false) {
    this.unfold(true);
    this.byHand = true;
    this.closed();
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

  /** Have the person choose files for a folder. */
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
    if (this.byHand && !byHand) return; // the person was faster
    this.byHand ||= byHand;
    this.preview.show(path, entry);
  }

  closed() {
    if (!this.tree) return;
    this.tree.current = null;
    this.tree.draw();
  }

  /** Something was written in these folders, or anywhere. */
  async changed(folders) {
    const among = (wanted) => !folders || folders.some(wanted);
    if (this.preview.path && among((folder) => isBelow(this.preview.path, folder))) this.again();
    await this.tree.refresh(folders);
    if (among((folder) => folder === "output" || isBelow(folder, "output"))) this.newestFirst();
  }

  /** See whether the file that is shown has changed, or is gone. */
  async again() {
    const { path, file } = this.preview;
    if (file.step !== null) return; // what was stays
    const entry = await ask(runApi(`entries/${path}`)).catch(() => undefined);
    if (path !== this.preview.path || entry === undefined) return;
    if (entry) this.preview.show(path, entry);
    else this.preview.gone();
  }

  /** A picture or a sound that appears in `output/` shows itself until the person chose something. */
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
