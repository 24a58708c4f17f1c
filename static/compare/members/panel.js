// The composer's panel for a comparison: its members as chips, repetitions, the expected answer.

import { fetchExamples } from "../../core/examples.js";
import { h, loadStyles } from "../../core/dom.js";
import { apiUrl, currentRun, emit } from "../../core/event_stream.js";
import { fetchJson } from "../../core/loading/fetch.js";
import { currentSettings, settingsKey } from "../../core/preferences.js";
import { pendingUploads } from "../../uploads/uploads.js";
import { showComparison } from "../open.js";
import { MemberEditor } from "./editor.js";
import { expectedFields } from "./form.js";
import { MAX_REPETITIONS, requestBody, sharedModel } from "./member.js";

export class ComparePanel {
  /** `task` is the composer's text area, `onClose()` is called when the panel closes. */
  constructor(task, { onClose }) {
    this.task = task;
    this.onClose = onClose;
    this.starting = false;
    this.editor = new MemberEditor({ least: 2, changed: (members) => this.onMembers(members) });
    this.repetitions = h("input", { type: "number", min: 1, max: MAX_REPETITIONS, step: 1, value: 1, "aria-label": "Repetitions of each member" });
    this.expectedPlace = h("div");
    this.status = h("p", { class: "panel-status", role: "status" });
    this.startButton = h("button", { class: "start", onclick: () => this.start() }, "Start comparison");
    const close = h("button", { class: "quiet", onclick: () => this.close() }, "Cancel");
    this.element = h(
      "section",
      { class: "compare-panel", "aria-label": "Comparison of members" },
      h("div", { class: "panel-line" }, h("b", {}, "Compare"), this.editor.chips),
      this.editor.form,
      h("div", { class: "panel-line options" }, h("label", { class: "field" }, h("span", {}, "Repetitions"), this.repetitions), this.expectedPlace),
      h("div", { class: "panel-line end" }, this.status, close, this.startButton),
    );
    this.element.addEventListener("keydown", (event) => this.onKey(event));
  }

  get isOpen() {
    return this.element.isConnected;
  }

  async open() {
    await loadStyles("compare/members/panel.css");
    this.repetitions.value = 1;
    this.expected = { kind: "", answer: "", tolerance: null };
    this.setStatus("");
    document.querySelector("#task").before(this.element);
    this.editor.reset();
    this.drawExpected();
    this.editor.chips.querySelector("button")?.focus();
    await this.takeExpectedOfExample();
  }

  /** An example's answer is known. */
  async takeExpectedOfExample() {
    const text = this.task.value.trim();
    const examples = await fetchExamples().catch(() => []);
    const expected = examples.find(({ task }) => task === text)?.expected;
    if (!expected || this.expected.kind) return;
    Object.assign(this.expected, expected);
    this.drawExpected();
  }

  close() {
    if (!this.isOpen) return;
    this.element.remove();
    this.onClose();
  }

  onKey(event) {
    if (event.key !== "Escape") return;
    event.stopPropagation(); // Escape would stop the run
    if (this.editor.edited) return this.editor.edit(null);
    return this.close();
  }

  drawExpected() {
    this.expectedPlace.replaceChildren(expectedFields(this.expected, () => this.setStatus("")));
  }

  /** The members have changed. */
  onMembers(members) {
    const model = sharedModel(members);
    if (!this.starting) this.setStatus(model ? `All answered by ${model === "built-in model" ? "the built-in model, one run after the other" : model}.` : "");
    this.startButton.disabled = members.length < 2 || this.starting;
  }

  setStatus(text, bad = false) {
    this.status.textContent = text;
    this.status.classList.toggle("bad", bad);
  }

  /** Ask the server to start the comparison, and show it. */
  async start() {
    if (this.starting || this.startButton.disabled) return;
    const task = this.task.value.trim();
    const repetitions = Number(this.repetitions.value);
    const missing = this.missing(task, repetitions);
    if (missing) return this.setStatus(missing, true);
    const keyUrl = (currentSettings().base_url ?? "").trim();
    const key = settingsKey(keyUrl);
    const { kind, answer } = this.expected;
    const expected = kind && answer ? this.expected : null;
    const body = requestBody({
      task,
      inputs: currentRun.id ?? "",
      members: this.editor.members,
      repetitions,
      expected,
      key,
      keyUrl,
    });
    this.starting = true;
    this.startButton.disabled = true;
    this.setStatus("Starting…");
    try {
      const { id } = await fetchJson(apiUrl("comparisons"), { method: "POST", body: JSON.stringify(body) });
      emit("message-sent", { text: task });
      this.close();
      await showComparison(id);
    } catch (error) {
      this.setStatus(error.message, true);
    } finally {
      this.starting = false;
      this.startButton.disabled = false;
    }
  }

  /** What keeps the comparison from being started; empty if nothing does. */
  missing(task, repetitions) {
    if (!task) return "Describe a task first.";
    if (pendingUploads()) return "Files are still uploading.";
    if (!Number.isInteger(repetitions) || repetitions < 1 || repetitions > MAX_REPETITIONS) return `Repetitions: 1 to ${MAX_REPETITIONS}.`;
    if (this.expected.kind && !this.expected.answer) return "Enter the expected answer, or choose “not known”.";
    return "";
  }
}
