// Toolbar of the tree: current folder, filter, sort order, add.

import { h, icon } from "../../core/dom.js";
import { formatNumber, plural, decodePath } from "../../core/format.js";
import { source } from "../../core/loading/source.js";
import { currentRun } from "../../core/event_stream.js";
import { openMenu } from "../../core/widgets/menu.js";
import { parentOf } from "../../core/paths.js";

const TYPING_MS = 140; // ms after the last keystroke

export class TreeToolbar {
  constructor(root, tree, actions) {
    this.tree = tree;
    this.actions = actions;
    const find = (name) => root.querySelector(name);
    this.crumbs = find(".crumbs");
    this.count = find(".count");
    this.filter = find(".filter");
    this.sort = find(".sort");
    this.emptyMessage = find(".empty-message");
    find(".create").addEventListener("click", ({ currentTarget }) => openMenu(actions.createItems(this.folder()), currentTarget));
    find(".more").addEventListener("click", ({ currentTarget }) => openMenu(actions.workspaceItems(), currentTarget));
    find(".finder label").prepend(icon("find"));
    this.sort.value = tree.options.sort;
    this.sort.addEventListener("change", () => tree.setOption("sort", this.sort.value));
    this.filter.addEventListener("input", () => this.onInput());
    this.filter.addEventListener("keydown", (event) => this.onKey(event));
    this.crumbs.addEventListener("click", (event) => this.openFolder(event.target.closest("button")));
  }

  /** The target folder of new items: the focused folder, if any. */
  folder() {
    return this.tree.focused ? this.actions.targetFolder() : this.tree.model.root;
  }

  onInput() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.tree.filter(this.filter.value.trim()), TYPING_MS);
  }

  onKey(event) {
    if (event.key === "Escape" && this.filter.value) {
      this.filter.value = "";
      this.tree.filter("");
    } else if (event.key === "ArrowDown" || event.key === "Enter") {
      clearTimeout(this.waiting);
      Promise.resolve(this.tree.filter(this.filter.value.trim())).then(() => this.tree.goTo(0));
    } else return;
    event.preventDefault();
    event.stopPropagation(); // Escape would stop the run
  }

  openFolder(button) {
    if (button) this.tree.showFolder(button.dataset.folder);
  }

  show() {
    const { model, options } = this.tree;
    if (document.activeElement !== this.filter && this.filter.value.trim() !== options.words) this.filter.value = options.words;
    if (this.root !== model.root) this.showBreadcrumbs(model.root);
    this.sort.value = options.sort;
    const text = this.countText();
    if (this.count.textContent !== text) this.count.textContent = text;
    this.showEmptyMessage();
  }

  /** Breadcrumbs of the current folder; the middle of a long path is omitted. */
  showBreadcrumbs(path) {
    this.root = path;
    const names = path ? path.split("/") : [];
    const folders = names.map((_, index) => names.slice(0, index + 1).join("/"));
    const crumb = (folder, text) => h("button", { class: "crumb", "data-folder": folder, "aria-current": folder === path ? "true" : null }, h("bdi", {}, text));
    const crumbs = folders.map((folder, index) => crumb(folder, decodePath(names[index])));
    if (crumbs.length > 3) crumbs.splice(0, crumbs.length - 2, crumb(parentOf(folders.at(-2)), "…"));
    const parts = [crumb("", "workspace"), ...crumbs];
    this.crumbs.replaceChildren(...parts.flatMap((part, index) => (index ? [h("i", { "aria-hidden": "true" }, "/"), part] : [part])));
  }

  countText() {
    const { model, selection } = this.tree;
    if (selection.size > 1) return `${formatNumber(selection.size)} selected`;
    if (!model.base.loaded) return "";
    if (model.found) return `${formatNumber(model.found.total)}${model.found.truncated ? "+" : ""} found`;
    return plural(model.base.total, "item");
  }

  /** Explain why the tree is empty. */
  showEmptyMessage() {
    const { model, options, error } = this.tree;
    const empty = !currentRun.id || (model.base.loaded && !model.base.total);
    const hidden = empty && model.base.hidden;
    let text = "";
    if (error) text = error;
    else if (model.found && empty) text = `No file names match “${options.words}”.`;
    else if (empty && options.step !== null)
      text = model.base.recorded === false ? "No versions of this run's files were recorded." : `This folder was empty after step ${options.step}.`;
    else if (empty)
      text = model.root
        ? "This folder is empty."
        : source.bundled
          ? "No files."
          : "Your files and the model's files appear here. Drop files or folders to upload them.";
    if (hidden) text += ` ${plural(hidden, "hidden file is", "hidden files are")} not shown.`;
    this.emptyMessage.hidden = !text;
    if (this.emptyMessage.textContent !== text) this.emptyMessage.textContent = text;
  }
}
