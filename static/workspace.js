// The files beside the run: the tree follows what is written, a click looks at a file.

import { plural } from "./format.js";
import { Preview } from "./preview.js";
import { on, session } from "./session.js";
import { Tree } from "./tree.js";

const SHOWS_ITSELF = /^output\/.*\.(png|jpe?g|gif|webp|svg|wav|mp3|mp4|webm)$/i;

class Workspace {
  constructor(root) {
    this.root = root;
    this.count = root.querySelector(".count");
    this.sheet = root.querySelector(".sheet");
    this.preview = new Preview(root.querySelector(".preview"), { onClose: () => {} });
    this.tree = new Tree(root.querySelector(".tree"), {
      onPick: (path, entry, byHand) => this.look(path, entry, byHand),
      onListed: (folder, entries) => this.listed(folder, entries),
    });
    root.querySelector(".upload").addEventListener("click", () => document.querySelector(".attachments .choose").click());
    this.sheet.addEventListener("click", () => this.unfold(!root.classList.contains("unfolded")));
    on("reset", () => this.reset());
    on("workspace", ({ folders }) => this.tree.refresh(folders));
    on("changed", ({ step, changes }) => changes.forEach((each) => this.tree.markStep(each.path, step)));
    on("look", (path) => {
      this.unfold(true);
      this.tree.choose(path);
    });
    this.reset();
  }

  reset() {
    this.tree.reset();
    this.preview.close();
    this.byHand = false;
    this.newest = 0;
    this.count.textContent = "";
    this.root.classList.toggle("empty", !session.run);
  }

  unfold(open) {
    this.root.classList.toggle("unfolded", open);
    this.sheet.setAttribute("aria-expanded", String(open));
  }

  look(path, entry, byHand) {
    this.byHand ||= byHand;
    this.preview.show(path, entry);
  }

  listed(folder, entries) {
    if (!folder) this.count.textContent = plural(entries.length, "entry", "entries");
    const shown = entries.find((entry) => entry.path === this.preview.path);
    if (shown) this.preview.show(shown.path, shown);
    if (this.byHand) return;
    const fresh = entries.filter((entry) => entry.kind === "file" && SHOWS_ITSELF.test(entry.path));
    const last = fresh.sort((a, b) => b.changed - a.changed)[0];
    if (last && last.changed > this.newest) {
      this.newest = last.changed;
      this.tree.choose(last.path, false);
    }
  }
}

export function mountWorkspace(element) {
  new Workspace(element.querySelector(".workspace"));
}
