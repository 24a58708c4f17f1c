// The composer: task text, files, Run and Stop, and errors of the last action.

import { waitForElement, setFieldValue, icon } from "../core/dom.js";
import { mountExamples } from "./examples.js";
import { plural } from "../core/format.js";
import { saveSentText, sentTexts } from "../core/preferences.js";
import { emit, on, currentRun } from "../core/event_stream.js";
import { chosenPictures, mountUploads, pendingUploads } from "../uploads/uploads.js";
import { saveUnsentText, unsentText } from "../core/run/unsent_text.js";
import { forgetAttached, lengthWarning } from "./length_warning.js";
import { mountControls } from "../steering/controls.js";
import { queueMessage } from "../steering/requests.js";
import { ComparePanel } from "../experiments/members/panel.js";

const button = (id) => /** @type {HTMLButtonElement} */ (document.getElementById(id));
const SHORTCUT = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘ Enter" : "Ctrl Enter";
const LOW = matchMedia("(max-height: 520px)");
const NEXT_RESULT = "A message reaches the model with its next result";

export async function mountComposer(element, props) {
  mountUploads(element);
  mountExamples(element);
  const [task] = await Promise.all(["#task textarea", "#run", "#stop", "#compare"].map(waitForElement));
  const control = new SendControl(task, element.querySelector(".hint"), props);
  mountCompare(control);
  mountControls(button("stop"));
  mountUnsentText(task);
  on("compose", (text) => addText(task, text));
  mountKeys(control);
  mountSentTexts(task);
  // Gradio sets focus before the page is visible. Skip phones, so that no keyboard opens.
  addEventListener("mounted", () => matchMedia("(pointer: fine)").matches && task.focus(), { once: true });
}

/** State and actions of Run and Stop, or the reason why they are disabled. */
class SendControl {
  /** @type {{ isOpen: boolean, start: () => void } | undefined} the Compare panel, once it was opened */
  panel;

  constructor(task, hint, props) {
    this.task = task;
    this.hint = hint;
    this.props = props;
    this.waitingForUploads = false;
    this.message = null;
    this.warning = "";
    button("run").setAttribute("aria-describedby", hint.id);
    button("run").addEventListener("click", (event) => this.onRun(event), true);
    on("uploads", () => this.onUploads());
    on("workspace", () => this.onWorkspace());
    on("upload-failed", (text) => {
      this.waitingForUploads = false;
      emit("notice", { text });
    });
    on("send", (message) =>
      setTimeout(() => {
        this.message = message;
        button("run").click();
      }),
    );
    for (const name of ["update", "reset", "connection", "steering"]) on(name, () => this.update());
    task.addEventListener("input", () => this.checkLength());
    LOW.addEventListener("change", () => this.update());
    this.update();
  }

  onRun(event) {
    // Text may have been typed before Gradio mounted.
    setFieldValue(this.task, this.task.value);
    if (currentRun.offline) return this.refuseOffline(event);
    if (currentRun.running) return this.queue(event);
    if (pendingUploads()) {
      event.stopImmediatePropagation();
      this.waitingForUploads = true;
      return this.update();
    }
    const pictures = chosenPictures();
    this.props.value = pictures ? { ...this.message, pictures } : this.message;
    saveSentText((this.message?.text ?? this.task.value).trim());
    return void (this.message = null);
  }

  /** Send the text to the run while it works; it then waits to be delivered. */
  async queue(event) {
    event.stopImmediatePropagation();
    const text = (this.message?.text ?? this.task.value).trim();
    this.message = null;
    if (!text || this.sending) return;
    this.sending = true;
    try {
      await queueMessage(currentRun, text, chosenPictures());
      saveSentText(text);
      emit("message-sent", { text });
    } catch (error) {
      emit("notice", { text: `Not sent: ${error.message} Your text is kept.` });
    }
    this.sending = false;
  }

  /** Keep Gradio from sending the request anyway and reloading the page when the server is back. */
  refuseOffline(event) {
    event.stopImmediatePropagation();
    this.message = null;
    emit("notice", { text: "Not sent: connection lost. Your text is kept. Send it again once the page has reconnected." });
  }

  onUploads() {
    if (pendingUploads() || !this.waitingForUploads) return this.update();
    this.waitingForUploads = false;
    this.update();
    return button("run").click();
  }

  /** Attached files count, too. */
  onWorkspace() {
    forgetAttached();
    if (!currentRun.started) this.checkLength();
  }

  update() {
    const { running } = currentRun;
    const label = running ? "Send" : "Run";
    if (button("run").textContent.trim() !== label) button("run").textContent = label;
    button("stop").disabled = !currentRun.running;
    document.getElementById("composer").toggleAttribute("data-line", currentRun.started || LOW.matches); // one line in a low window
    this.setHint(this.state());
    this.task.placeholder = currentRun.started ? "Send a message to the model, or drop files anywhere" : "What should the model do? Drop files anywhere";
  }

  state() {
    const files = plural(pendingUploads(), "file");
    if (currentRun.offline) return "Connection lost";
    if (currentRun.steering?.waiting) return "A call waits for your approval";
    if (this.warning) return this.warning;
    if (currentRun.running) return NEXT_RESULT;
    if (!pendingUploads()) return SHORTCUT;
    return this.waitingForUploads ? `Starts after uploading ${files}` : `Uploading ${files}`;
  }

  async checkLength() {
    const text = this.task.value;
    const warning = await lengthWarning(text);
    if (text !== this.task.value || warning === this.warning) return;
    this.warning = warning;
    this.update();
  }

  setHint(text) {
    this.hint.classList.toggle("warn", text === this.warning && Boolean(text));
    if (this.hint.textContent !== text) this.hint.textContent = text;
    this.hint.classList.toggle("keys", text === SHORTCUT);
    this.hint.classList.toggle("matters", ![SHORTCUT, NEXT_RESULT].includes(text));
  }

  /** Run by keyboard; report if a run is already active. */
  runByKey() {
    if (this.panel?.isOpen) this.panel.start();
    else button("run").click();
  }

  /** Stop the run, or stop waiting for uploads. */
  cancel() {
    if (currentRun.running) button("stop").click();
    this.waitingForUploads = false;
    this.message = null;
    this.update();
  }
}

/** Add a sentence to the message, for the user to go on with. */
function addText(task, text) {
  setFieldValue(task, [task.value.trimEnd(), `${text} `].filter(Boolean).join("\n"));
  task.focus();
  task.setSelectionRange(task.value.length, task.value.length);
}

/** Keep unsent text across reloads and switches between runs; forget it once sent. */
function mountUnsentText(task) {
  let shownRun = currentRun.id;
  const restore = () => setFieldValue(task, unsentText(currentRun.id));
  task.addEventListener("input", () => saveUnsentText(currentRun.id, task.value));
  addEventListener("mounted", () => task.value || restore(), { once: true });
  on("draft", (run) => {
    saveUnsentText(run, task.value);
    saveUnsentText(null, "");
  });
  on("reset", () => {
    if (currentRun.id !== shownRun) restore();
    shownRun = currentRun.id;
  });
  on("message-sent", ({ text }) => {
    for (const run of [currentRun.id, null]) if (unsentText(run).trim() === text.trim()) saveUnsentText(run, "");
    if (task.value.trim() === text.trim()) setFieldValue(task, "");
  });
}

/** Compare opens a panel; while it is open, it starts the comparison instead of Run. */
function mountCompare(control) {
  const compare = button("compare");
  const show = () => {
    const { isOpen } = control.panel;
    compare.setAttribute("aria-expanded", String(isOpen));
    button("run").hidden = compare.hidden = isOpen;
    if (!isOpen) compare.hidden = currentRun.started;
  };
  control.panel = new ComparePanel(control.task, { onClose: () => (show(), control.task.focus()) });
  compare.title = "Compare this task with and without a sandbox, or between models";
  compare.addEventListener("click", async () => {
    await control.panel.open();
    show();
  });
  on("reset", () => currentRun.started || show());
  on("update", () => {
    if (currentRun.started) control.panel.close();
    show();
  });
  show();
}

function mountKeys(control) {
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]") || document.documentElement.dataset.view) return;
    const typing = /** @type {Element} */ (event.target).closest?.("input, textarea, select, [contenteditable]");
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) control.runByKey();
    else if (event.key === "Escape" && event.target === control.task && currentRun.started) document.querySelector(".timeline .thread").focus();
    else if (event.key === "Escape") control.cancel();
    else if (event.key === "c" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      control.task.focus();
    }
  });
}

/** Arrow up in an empty box recalls sent texts; arrow down returns to the newest. */
function mountSentTexts(task) {
  let texts = [];
  let at = 0;
  task.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by || event.shiftKey || event.isComposing) return;
    if (!task.value) [texts, at] = [sentTexts(), sentTexts().length];
    else if (task.value !== texts[at]) return;
    const to = Math.max(0, at + by);
    if (to > texts.length || (to === at && task.value)) return;
    event.preventDefault();
    at = Math.min(to, texts.length);
    setFieldValue(task, texts[at] ?? "");
  });
}

export function mountNotice(element, props, watch) {
  const box = element.querySelector(".notice");
  const [text, settings, close] = ["label", "connect", "close"].map((name) => box.querySelector(`.${name}`));
  close.append(icon("close"));
  const show = (notice) => {
    box.hidden = !notice;
    text.textContent = notice?.text ?? "";
    settings.hidden = !notice?.connect;
    if (notice?.connect) emit("open-settings");
  };
  settings.addEventListener("click", () => emit("open-settings"));
  close.addEventListener("click", () => show(null));
  watch("value", () => show(props.value));
  on("notice", show);
  on("message-sent", () => show(null));
}
