// Actions on tree rows: context menu and keyboard shortcuts.

import { source } from "../../core/loading/source.js";
import { currentRun, whileShown } from "../../core/event_stream.js";
import { plural } from "../../core/format.js";
import { openMenu } from "../../core/widgets/menu.js";
import { parentOf } from "../../core/paths.js";

// The list of versions is loaded on first use.
const openVersions = ({ path }) => whileShown(import("./version_list.js"), "header/header.css", ({ openVersionList }) => openVersionList(path));

const openPictures = () => whileShown(import("../../preview/run_pictures.js"), "preview/run_pictures.css", (module) => module.openPictures());

const FIXED_FOLDERS = new Set(["input", "output"]); // the model expects these

export class TreeActions {
  constructor(tree, operations, { upload }) {
    this.tree = tree;
    this.operations = operations;
    this.upload = upload;
  }

  /** The rows to act on: the selection if it includes the focused row, else that row. */
  targets() {
    const { tree } = this;
    if (tree.focused && tree.selection.has(tree.focused)) return tree.selection.topLevel();
    const entry = tree.focused && tree.model.entryOf(tree.focused);
    return entry ? [entry] : tree.selection.topLevel();
  }

  changeableTargets() {
    if (!currentRun.canEditFiles) return [];
    return this.targets().filter(({ path }) => !FIXED_FOLDERS.has(path));
  }

  /** The target folder of new items. */
  targetFolder(entry = this.targets()[0]) {
    if (!entry) return this.tree.model.root;
    return entry.kind === "folder" ? entry.path : parentOf(entry.path);
  }

  open(entry) {
    const { tree } = this;
    if (entry.kind !== "folder") return tree.openFile(entry.path);
    if (!tree.model.found) return tree.setOpen(entry.path, !tree.model.isOpen(entry.path));
    return this.goInto(entry.path);
  }

  /** Clear the filter and open a folder in the full tree. */
  async goInto(path) {
    const { tree } = this;
    await tree.reveal(path);
    tree.setOpen(path, true);
    await tree.goTo(tree.model.placeOf(path));
  }

  openMenu(at, back) {
    const entries = this.targets();
    const items = entries.length > 1 ? this.itemsForMany(entries) : entries.length ? this.itemsForOne(entries[0]) : this.itemsForNone();
    openMenu(items, at, back);
  }

  itemsForOne(entry) {
    const { tree, operations } = this;
    const folder = entry.kind === "folder";
    const open = folder && tree.model.isOpen(entry.path) ? "Close" : "Open";
    return [
      { text: open, keys: "Enter", run: () => this.open(entry) },
      folder && { text: "Show only this folder", run: () => tree.showFolder(entry.path) },
      !folder && !source.bundled && { text: "Open in new tab", run: () => operations.openInNewTab(entry) },
      entry.kind === "file" && { text: "Versions…", run: () => openVersions(entry) },
      entry.kind !== "link" &&
        !(folder && source.bundled) && { text: folder ? `Download${asOfStep()} as zip` : "Download", run: () => operations.download([entry]) },
      { text: "Copy path", keys: "Ctrl C", run: () => operations.copyPaths([entry]) },
      ...(folder && currentRun.canEditFiles ? [null, ...this.createItems(entry.path)] : []),
      ...this.changeItems([entry]),
    ].filter((item) => typeof item !== "boolean");
  }

  itemsForMany(entries) {
    const { operations } = this;
    return [
      !source.bundled && { text: `Download ${plural(entries.length, "item")}${asOfStep()} as zip`, run: () => operations.download(entries) },
      { text: `Copy ${plural(entries.length, "path")}`, keys: "Ctrl C", run: () => operations.copyPaths(entries) },
      ...this.changeItems(entries),
    ].filter((item) => typeof item !== "boolean");
  }

  changeItems(entries) {
    const { operations } = this;
    if (!currentRun.canEditFiles) return [];
    const changeable = entries.filter(({ path }) => !FIXED_FOLDERS.has(path));
    if (!changeable.length) return [];
    return [
      null,
      changeable.length === 1 && { text: "Rename", keys: "F2", run: () => operations.rename(changeable[0]) },
      { text: "Move to…", run: () => operations.moveTo(changeable) },
      { text: "Cut", keys: "Ctrl X", run: () => operations.cut(changeable) },
      { text: "Delete", keys: "Del", danger: true, run: () => operations.remove(changeable) },
    ].filter((item) => typeof item !== "boolean");
  }

  createItems(folder) {
    if (!currentRun.canEditFiles) return [];
    const { operations, tree } = this;
    const paste = tree.cut.size ? [{ text: `Paste ${plural(tree.cut.size, "item")}`, keys: "Ctrl V", run: () => operations.paste(folder) }] : [];
    return [
      { text: "New file", run: () => operations.create("file", folder) },
      { text: "New folder", run: () => operations.create("folder", folder) },
      { text: "Upload files here", run: () => this.upload(folder) },
      ...paste,
    ];
  }

  itemsForNone() {
    const createItems = this.createItems(this.tree.model.root);
    return [...createItems, ...(createItems.length ? [null] : []), ...this.workspaceItems()];
  }

  /** Actions on the whole workspace. */
  workspaceItems() {
    const { tree, operations } = this;
    return [
      { text: "Pictures of this run…", run: () => openPictures() },
      !source.bundled && { text: currentRun.pastStep === null ? "Download all" : `Download folder${asOfStep()} as zip`, run: () => operations.downloadAll() },
      { text: "Mark all as read", run: () => (tree.marks.markAllRead(), tree.draw()) },
      { text: "Collapse all folders", run: () => tree.collapseAll() },
      { text: "Show hidden files", checked: tree.options.hidden, run: () => tree.setOption("hidden", !tree.options.hidden) },
    ].filter((item) => typeof item !== "boolean");
  }
}

/** The step as of which the files are shown, as a part of a label. */
const asOfStep = () => (currentRun.pastStep === null ? "" : ` as of step ${currentRun.pastStep}`);
