// The composer: task text, files, Run and Stop, and errors of the last action.

import { waitForElement, setFieldValue, icon } from "../core/dom.js";
import { mountExamples } from "./examples.js";
import { plural } from "../core/format.js";
import { saveSentText, sentTexts } from "../core/preferences.js";
import { emit, on, currentRun } from "../core/event_stream.js";
import { mountUploads, pendingUploads } from "../uploads/uploads.js";
import { saveUnsentText, unsentText } from "./unsent_text.js";
import { openSettings } from "./welcome.js";

const button = (id) => document.getElementById(id);
const SHORTCUT = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘ Enter" : "Ctrl Enter";

export async function mountComposer(element, props) {
  mountUploads(element);
  mountExamples(element);
  const [task] = await Promise.all(["#task textarea", "#run", "#stop"].map(waitForElement));
  const control = new SendControl(task, element.querySelector(".hint"), props);
  mountUnsentText(task);
  mountKeys(task, control);
  mountSentTexts(task);
  // Gradio sets focus before the page is visible. Skip phones, so that no keyboard opens.
  addEventListener("mounted", () => matchMedia("(pointer: fine)").matches && task.focus(), { once: true });
}

/** State and actions of Run and Stop, or the reason why they are disabled. */
class SendControl {
  constructor(task, hint, props) {
    Object.assign(this, { task, hint, props, waitingForUploads: false, message: null });
    button("run").setAttribute("aria-describedby", hint.id);
    button("run").addEventListener("click", (event) => this.onRun(event), true);
    on("uploads", () => this.onUploads());
    on("upload-failed", (text) => {
      this.waitingForUploads = false;
      emit("notice", { text });
    });
    on("send", (message) => setTimeout(() => {
      this.message = message;
      button("run").click();
    }));
    for (const name of ["update", "reset", "connection"]) on(name, () => this.update());
    this.update();
  }

  onRun(event) {
    // Text may have been typed before Gradio mounted.
    setFieldValue(this.task, this.task.value);
    if (currentRun.offline) return this.refuseOffline(event);
    if (pendingUploads()) {
      event.stopImmediatePropagation();
      this.waitingForUploads = true;
      return this.update();
    }
    this.props.value = this.message;
    saveSentText((this.message?.text ?? this.task.value).trim());
    return void (this.message = null);
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

  update() {
    button("run").disabled = currentRun.running;
    button("stop").disabled = !currentRun.running;
    this.setHint(this.state());
    this.task.placeholder = currentRun.started
      ? "Send a message to the model, or drop files anywhere"
      : "What should the model do? Drop files anywhere";
  }

  state() {
    const files = plural(pendingUploads(), "file");
    if (currentRun.offline) return "Connection lost";
    if (currentRun.running) return "Running – you can send when it finishes";
    if (!pendingUploads()) return SHORTCUT;
    return this.waitingForUploads ? `Starts after uploading ${files}` : `Uploading ${files}`;
  }

  setHint(text) {
    if (this.hint.textContent !== text) this.hint.textContent = text;
    this.hint.classList.toggle("keys", text === SHORTCUT);
  }

  /** Run by keyboard; report if a run is already active. */
  runByKey() {
    if (!currentRun.running) button("run").click();
    else if (this.task.value.trim()) this.setHint("Not sent: the run has not finished yet");
  }

  /** Stop the run, or stop waiting for uploads. */
  cancel() {
    if (currentRun.running) button("stop").click();
    this.waitingForUploads = false;
    this.message = null;
    this.update();
  }
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

function mountKeys(task, control) {
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) control.runByKey();
    else if (event.key === "Escape") control.cancel();
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
    if (notice?.connect) openSettings();
  };
  settings.addEventListener("click", openSettings);
  close.addEventListener("click", () => show(null));
  watch("value", () => show(props.value));
  on("notice", show);
  on("message-sent", () => show(null));
}
