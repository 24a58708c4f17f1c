// The composer's panel for a comparison: its members as chips, repetitions, the expected answer.

import { fetchExamples } from "../../core/examples.js";
import { h, loadStyles } from "../../core/dom.js";
import { currentRun, emit } from "../../core/event_stream.js";
import { settingsKey } from "../../core/preferences.js";
import { pendingUploads } from "../../uploads/uploads.js";
import { expectedFields, field } from "./form.js";
import { expectedRequest, MAX_REPETITIONS, sharedModel } from "./member.js";
import { StartForm } from "./start_form.js";

export class ComparePanel extends StartForm {
  /** `text` is the composer's text area, `onClose()` is called when the panel closes. */
  constructor(text, { onClose }) {
    super("comparison", 2);
    this.text = text;
    this.onClose = onClose;
    this.repetitions = h("input", { type: "number", min: 1, max: MAX_REPETITIONS, step: 1, value: 1, "aria-label": "Repetitions of each member" });
    this.expectedPlace = h("div");
    const close = h("button", { class: "quiet", onclick: () => this.close() }, "Cancel");
    this.element = h(
      "section",
      { class: "compare-panel", "aria-label": "Comparison of members" },
      h("div", { class: "panel-line" }, h("b", {}, "Compare"), this.editor.chips),
      this.editor.form,
      h("div", { class: "panel-line options" }, field("Repetitions", this.repetitions), this.expectedPlace),
      h("div", { class: "panel-line end" }, this.status, close, this.startButton),
    );
    this.element.addEventListener("keydown", (event) => this.onKey(event));
  }

  get isOpen() {
    return this.element.isConnected;
  }

  get task() {
    return this.text.value.trim();
  }

  async open() {
    await loadStyles("experiments/members/members.css");
    this.repetitions.value = 1;
    this.expected = { kind: "", answer: "", tolerance: null, judge: { model: "", baseUrl: "", prompt: "", apiKey: "" } };
    this.setStatus("");
    document.querySelector("#task").before(this.element);
    this.editor.reset();
    this.drawExpected();
    this.editor.chips.querySelector("button")?.focus();
    await this.takeExpectedOfExample();
  }

  /** An example's answer is known. */
  async takeExpectedOfExample() {
    const { task } = this;
    const examples = await fetchExamples().catch(() => []);
    const expected = examples.find((example) => example.task === task)?.expected;
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

  update() {
    const model = sharedModel(this.editor.members);
    if (this.starting) return;
    this.setStatus(model ? `All answered by ${model === "built-in model" ? "the built-in model, one run after the other" : model}.` : "");
  }

  missing() {
    const repetitions = Number(this.repetitions.value);
    if (!this.task) return "Describe a task first.";
    if (pendingUploads()) return "Files are still uploading.";
    if (!Number.isInteger(repetitions) || repetitions < 1 || repetitions > MAX_REPETITIONS) return `Repetitions: 1 to ${MAX_REPETITIONS}.`;
    if (this.expected.kind && !this.expected.answer) return "Enter the expected answer, or choose “not known”.";
    return "";
  }

  async request() {
    const { task, expected } = this;
    return { task, inputs: currentRun.id ?? "", repetitions: Number(this.repetitions.value), expected: expectedRequest(expected, settingsKey) };
  }

  onStarted({ task }) {
    emit("message-sent", { text: task });
    this.close();
  }
}
