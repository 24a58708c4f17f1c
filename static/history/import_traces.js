// Import traces of other tools into the history: "Import…", or files dropped on the dialog.

import { h } from "../core/dom.js";
import { apiUrl } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { formatBytes, plural } from "../core/format.js";
import { addOriginChip, originChip } from "../core/run/origin.js";

const TYPES = ".json,.jsonl,.traj,.eval,.zip";
const HINT =
  "Runs of this studio (journal.jsonl, run.zip) and traces of other tools: ATIF, trajectory.json, mini-swe-agent, SWE-agent, Inspect, OpenAI messages, Hugging Face sessions";

addOriginChip((run) => (run.imported ? originChip("imported from ", run.imported, { title: "Imported from a file" }) : null));

/** The button, the area for drops, and the files that could not be imported. */
export class TraceImport {
  /** `dialog` takes the drops; `onProgress(text)` is told what happens; `onImported(runs)` the new runs. */
  constructor(dialog, { onProgress, onImported }) {
    this.onProgress = onProgress;
    this.onImported = onImported;
    this.files = []; // waiting
    this.busy = false;
    this.input = h("input", { type: "file", multiple: true, accept: TYPES, hidden: true, onchange: () => this.choose() });
    this.button = h("button", { class: "inline", title: HINT, onclick: () => this.input.click() }, "Import…");
    this.overlay = h("div", { class: "drop-overlay", hidden: true }, h("span", {}, "Drop runs and traces here to import them"));
    this.problems = h("div", { class: "import-problems", role: "alert", hidden: true });
    dialog.append(this.overlay, this.input);
    this.acceptDrops(dialog);
  }

  choose() {
    this.add([...this.input.files]);
    this.input.value = "";
  }

  acceptDrops(dialog) {
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    const handle = (name, action) =>
      dialog.addEventListener(name, (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        event.stopPropagation(); // the page would upload the files to a run
        action(event);
      });
    handle("dragover", () => (this.overlay.hidden = false));
    handle("dragleave", (event) => dialog.contains(event.relatedTarget) || (this.overlay.hidden = true));
    handle("drop", (event) => {
      this.overlay.hidden = true;
      this.add([...event.dataTransfer.files]);
    });
  }

  /** Import files one after another; those that are dropped meanwhile follow. */
  async add(files) {
    this.files.push(...files);
    if (this.busy || !this.files.length) return;
    this.busy = true;
    this.problems.replaceChildren();
    this.problems.hidden = true;
    const runs = [];
    let file;
    while ((file = this.files.shift())) {
      this.onProgress(`Importing ${file.name} (${formatBytes(file.size)})…`);
      try {
        runs.push(...(await send(file)).runs);
      } catch (error) {
        this.addProblem(error.message || `${file.name} could not be sent.`);
      }
    }
    this.busy = false;
    this.onProgress(runs.length ? `Imported ${plural(runs.length, "run")}` : "Nothing was imported");
    if (runs.length) this.onImported(runs);
  }

  addProblem(text) {
    this.problems.append(h("p", { dir: "auto" }, text));
    this.problems.hidden = false;
  }
}

const send = (file) => fetchJson(apiUrl(`imports?${new URLSearchParams({ name: file.name })}`), { method: "POST", body: file });
