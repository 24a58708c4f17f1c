// The workspace panel: the tree follows file changes, a click previews a file.

import { waitForElement, h } from "../core/dom.js";
import { Preview } from "../preview/preview.js";
import { emit, on, runApiUrl, currentRun } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { Tree } from "../tree/tree.js";
import { TreeToolbar } from "../tree/actions/toolbar.js";
import { FileOperations } from "../tree/actions/operations.js";
import { TreeActions } from "../tree/actions/actions.js";
import { mountDivider } from "./divider.js";
import { PaneTabs } from "./pane_tabs.js";
import { isBelow } from "../core/paths.js";
import { StepChanges } from "../tree/step_changes.js";
import { isPresenting } from "../present/presenting.js";
import { TreeKeyboard } from "../tree/keyboard.js";
import { TreePointer } from "../tree/pointer.js";

const PREVIEWABLE = /^output\/.*\.(png|jpe?g|gif|webp|avif|svg|html?|pdf|midi?|wav|mp3|ogg|opus|flac|m4a|mp4|webm|mov)$/i;
const MIN_INTERVAL_MS = 400; // minimum ms between two requests for the newest image
const LOAD_FACTOR = 25; // and this many times the duration of the last request

class Workspace {
  constructor(root) {
    this.root = root;
    this.toggle = root.querySelector(".workspace-toggle");
    this.asOf = h("small", { class: "as-of", role: "status", hidden: true });
    root.querySelector(".crumbs").after(this.asOf);
    this.preview = new Preview(root.querySelector(".preview"), {
      onMove: (by) => this.tree.step(by),
      onClose: () => this.onPreviewClosed(),
      changedIn: (path, until) => this.tree.marks.changedIn(path, until),
      keepsLast: isPresenting,
    });
    this.tree = new Tree(root.querySelector(".tree"), {
      onOpen: (path, entry, byUser) => this.showFile(path, entry, byUser),
      onDrawn: () => this.toolbar?.show(),
    });
    this.changes = new StepChanges(currentRun);
    this.operations = new FileOperations(this.tree);
    this.actions = new TreeActions(this.tree, this.operations, { upload: (folder) => this.upload(folder) });
    this.toolbar = new TreeToolbar(root, this.tree, this.actions);
    new TreeKeyboard(this.tree, this.actions, this.operations);
    new TreePointer(this.tree, this.actions, this.operations, this.toolbar.crumbs);
    mountDivider(root.querySelector(".divider.horizontal"), root, "tree", { min: 15, max: 80, initial: 38 });
    waitForElement("#studio").then((frame) => mountDivider(root.querySelector(".divider.vertical"), frame, "conversation", { min: 30, max: 80, initial: 54 }));
    root.querySelector(".upload").addEventListener("click", () => document.querySelector(".attachments .choose").click());
    this.panes = new PaneTabs((files) => this.setExpanded(files));
    this.toggle.addEventListener("click", () => this.setExpanded(!root.classList.contains("unfolded")));
    on("reset", () => this.reset());
    on("workspace", ({ folders }) => this.onFilesChanged(folders));
    on("moment", () => this.showMoment());
    on("open-current", (path) => {
      emit("go-live");
      emit("open-file", path);
    });
    on("files-changed", ({ step, changes }) => {
      this.tree.addMarks(step, changes);
      if (changes.some(({ path }) => path === this.preview.path)) this.preview.onFileChanged();
    });
    on("open-file", (path) => {
      this.setExpanded(true);
      this.tree.openFile(path);
    });
    on("arrived", (changes) => this.onArrived(changes));
    on("open-version", ({ path, step, compared, base }) => this.showVersion(path, step, compared, base));
    on("stage-file", (file) => this.showOnStage(file));
    on("presenting", (begins) => begins || this.leaveStage());
    this.reset();
  }

  /** Show a file as of a step, or the changes the step made to it, or its changes since the step `base`. */
  showVersion(path, step, compared = false, base = null) {
    this.setExpanded(true);
    this.chosenByUser = true;
    this.tree.markRead(path, step);
    this.tree.highlight(path);
    this.preview.show(path, null, step, compared, base);
  }

  /** Show a file on stage, as of a step or as it is now; null closes the preview. It is not the user's choice. */
  showOnStage(file) {
    this.chosenByUser = false;
    if (!file) this.preview.close();
    else if (file.step === null) this.tree.openFile(file.path, false);
    else this.preview.show(file.path, null, file.step, file.compared);
  }

  /** After a presentation: show the newest result, or the file of the stage as of the moment that is shown. */
  async leaveStage() {
    await this.showAt(this.shownStep);
    this.newest = 0;
    this.showNewest();
  }

  reset() {
    this.shownStep = null;
    this.treeStep = null; // the step of the tree's rows, behind the shown step while these are loaded
    this.root.classList.remove("past");
    this.asOf.hidden = true;
    this.tree.reset();
    this.operations.reset();
    this.preview.close();
    this.chosenByUser = false;
    this.newest = 0;
    this.arrived = null; // the last new file of the step that is played
    this.root.classList.toggle("empty", !currentRun.id);
    this.toolbar.show();
  }

  /** Let the user choose files for a folder. */
  upload(folder) {
    const input = h("input", { type: "file", multiple: true });
    input.addEventListener("change", () => emit("upload", { files: [...input.files], folder }));
    input.click();
  }

  setExpanded(open) {
    this.root.classList.toggle("unfolded", open);
    this.toggle.setAttribute("aria-expanded", String(open));
    this.panes.show(open);
  }

  showFile(path, entry, byUser) {
    if (this.chosenByUser && !byUser) return; // the user was faster
    this.chosenByUser ||= byUser;
    // While the files of the step are loaded, the row is that of another one.
    if (this.treeStep !== this.shownStep) void this.showAt(this.shownStep, path);
    else if (this.shownStep === null) this.preview.show(path, entry);
    else this.showPast(path, entry);
  }

  /** Show a file as it was after the step that is shown; `entry` is its row, if it was there. */
  showPast(path, entry) {
    const there = entry && !entry.later;
    if (!there && (isPlaying() || !this.chosenByUser)) return void this.showExisting();
    this.preview.show(path, there ? entry : { kind: "absent", step: this.shownStep, size: 0 }, there ? entry.step : this.shownStep);
  }

  /** Show a file that is there at the moment, in place of one that is not. */
  showExisting() {
    const file = this.changes.until(this.shownStep);
    this.chosenByUser = false;
    if (!file) return this.preview.close();
    this.tree.highlight(file.path);
    return this.preview.show(file.path, null, file.step); // not by its row: the tree may still show another step
  }

  /** Show the files as of a moment, or as they are now. */
  async showMoment() {
    const { pastStep } = currentRun;
    if (pastStep === this.shownStep) return;
    this.shownStep = pastStep;
    this.root.classList.toggle("past", pastStep !== null);
    this.asOf.textContent = pastStep === null ? "" : `as it was ${pastStep ? `after step ${pastStep}` : "at the start"} · read only`;
    this.asOf.hidden = pastStep === null;
    await Promise.all([this.tree.showStep(pastStep), isPresenting() ? null : this.showAt(pastStep)]); // on stage, present/run_stage.js does
    if (pastStep !== this.shownStep) return;
    this.treeStep = pastStep;
    if (!isPresenting()) this.openArrived();
  }

  /** Show a file, by default that of the preview, as it was after a step; null for now. */
  async showAt(step, path = this.preview.path) {
    if (!path) return void (step !== null && isPlaying() && this.showExisting());
    const before = this.preview.path;
    const entry = await fetchJson(runApiUrl(`entries/${path}${step === null ? "" : `?step=${step}`}`)).catch(() => undefined);
    if (before !== this.preview.path || entry === undefined) return;
    if (step !== this.shownStep) return void (path !== before && this.showAt(this.shownStep, path));
    if (step !== null) this.showPast(path, entry);
    else if (entry) this.preview.show(path, entry);
    else if (path === before) this.preview.markDeleted();
  }

  /** While a run is played: remember a new file of a step, whose files are shown once it has ended. */
  onArrived(changes) {
    this.arrived = changes.findLast(({ path, kind }) => kind !== "removed" && PREVIEWABLE.test(path)) ?? this.arrived;
  }

  /** Show the file that arrived last, until the user selects one. */
  openArrived() {
    if (this.arrived && !this.chosenByUser) this.tree.openFile(this.arrived.path, false);
    this.arrived = null;
  }

  onPreviewClosed() {
    if (!this.tree) return;
    this.tree.current = null;
    this.tree.draw();
  }

  /** Files were written in these folders, or anywhere. */
  async onFilesChanged(folders) {
    if (this.shownStep !== null) return; // earlier versions do not change
    const affects = (predicate) => !folders || folders.some(predicate);
    if (this.preview.path && affects((folder) => isBelow(this.preview.path, folder))) this.reloadPreview();
    await this.tree.refresh(folders);
    if (affects((folder) => folder === "output" || isBelow(folder, "output"))) this.showNewest();
  }

  /** Reload the shown file if it changed, and report if it was deleted. */
  async reloadPreview() {
    const { path, file } = this.preview;
    if (file.step !== null) return; // old versions do not change
    const entry = await fetchJson(runApiUrl(`entries/${path}`)).catch(() => undefined);
    if (path !== this.preview.path || entry === undefined) return;
    if (entry) this.preview.show(path, entry);
    else this.preview.markDeleted();
  }

  /** Whether new media are shown: of the run as it is now, until the user selects a file; on stage, present/run_stage.js chooses. */
  get showsNewest() {
    return !this.chosenByUser && currentRun.id !== null && this.shownStep === null && !isPresenting();
  }

  /** Show new media in `output/` until the user selects a file. */
  async showNewest() {
    if (!this.showsNewest) return;
    if (this.waiting) return void (this.pending = true);
    this.waiting = true;
    const query = new URLSearchParams({ folder: "output", sort: "time", count: "50" });
    const [run, startTime] = [currentRun.id, performance.now()];
    const { entries } = await fetchJson(runApiUrl(`files?${query}`)).catch(() => ({ entries: [] }));
    setTimeout(() => this.onIntervalEnd(), Math.max(MIN_INTERVAL_MS, LOAD_FACTOR * (performance.now() - startTime)));
    const newest = entries.find((entry) => entry.kind === "file" && PREVIEWABLE.test(entry.path));
    if (!this.showsNewest || run !== currentRun.id || !newest || newest.modified <= this.newest) return;
    this.newest = newest.modified;
    this.tree.openFile(newest.path, false);
  }

  onIntervalEnd() {
    this.waiting = false;
    if (this.pending) this.showNewest();
    this.pending = false;
  }
}

const isPlaying = () => "playback" in document.documentElement.dataset;

export function mountWorkspace(element) {
  new Workspace(element.querySelector(".workspace"));
}
