// The composer: task text, files, Run and Stop, and errors of the last action.

import { appear, fill, icon } from "../core/dom.js";
import { mountExamples } from "./examples.js";
import { plural } from "../core/format.js";
import { keepSent, sent } from "../core/preferences.js";
import { emit, on, session } from "../core/session.js";
import { mountUploads, underWay } from "../uploads/uploads.js";
import { keepUnsent, unsent } from "./unsent_text.js";
import { openSettings } from "./welcome.js";

const button = (id) => document.getElementById(id);
const KEYS = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘ Enter" : "Ctrl Enter";

export async function mountTools(element, props) {
  mountUploads(element);
  mountExamples(element);
  const [task] = await Promise.all(["#task textarea", "#run", "#stop"].map(appear));
  const sender = new Sender(task, element.querySelector(".hint"), props);
  mountUnsent(task);
  mountKeys(task, sender);
  mountHistory(task);
  // Gradio sets focus before the page is visible. Skip phones, so that no keyboard opens.
  addEventListener("mounted", () => matchMedia("(pointer: fine)").matches && task.focus(), { once: true });
}

/** State and actions of Run and Stop, or the reason why they are disabled. */
class Sender {
  constructor(task, hint, props) {
    Object.assign(this, { task, hint, props, waits: false, given: null });
    button("run").setAttribute("aria-describedby", hint.id);
    button("run").addEventListener("click", (event) => this.pressed(event), true);
    on("uploads", () => this.uploads());
    on("not-sent", (text) => {
      this.waits = false;
      emit("notice", { text });
    });
    on("send", (given) => setTimeout(() => {
      this.given = given;
      button("run").click();
    }));
    for (const name of ["head", "reset", "away"]) on(name, () => this.settle());
    this.settle();
  }

  pressed(event) {
    // Text may have been typed before Gradio mounted.
    fill(this.task, this.task.value);
    if (session.away) return this.refuse(event);
    if (underWay()) {
      event.stopImmediatePropagation();
      this.waits = true;
      return this.settle();
    }
    this.props.value = this.given;
    keepSent((this.given?.text ?? this.task.value).trim());
    return void (this.given = null);
  }

  /** Keep Gradio from sending the request anyway and reloading the page when the server is back. */
  refuse(event) {
    event.stopImmediatePropagation();
    this.given = null;
    emit("notice", { text: "Not sent: connection lost. Your text is kept. Send it again once the page has reconnected." });
  }

  uploads() {
    if (underWay() || !this.waits) return this.settle();
    this.waits = false;
    this.settle();
    return button("run").click();
  }

  settle() {
    button("run").disabled = session.alive;
    button("stop").disabled = !session.alive;
    this.tell(this.state());
    this.task.placeholder = session.begun
      ? "Send a message to the model, or drop files anywhere"
      : "What should the model do? Drop files anywhere";
  }

  state() {
    const files = plural(underWay(), "file");
    if (session.away) return "Connection lost";
    if (session.alive) return "Running – you can send when it finishes";
    if (!underWay()) return KEYS;
    return this.waits ? `Starts after uploading ${files}` : `Uploading ${files}`;
  }

  tell(words) {
    if (this.hint.textContent !== words) this.hint.textContent = words;
    this.hint.classList.toggle("keys", words === KEYS);
  }

  /** Run by keyboard; report if a run is already active. */
  byKey() {
    if (!session.alive) button("run").click();
    else if (this.task.value.trim()) this.tell("Not sent: the run has not finished yet");
  }

  /** Stop the run, or stop waiting for uploads. */
  leave() {
    if (session.alive) button("stop").click();
    this.waits = false;
    this.given = null;
    this.settle();
  }
}

/** Keep unsent text across reloads and switches between runs; forget it once sent. */
function mountUnsent(task) {
  let shown = session.run;
  const restore = () => fill(task, unsent(session.run));
  task.addEventListener("input", () => keepUnsent(session.run, task.value));
  addEventListener("mounted", () => task.value || restore(), { once: true });
  on("draft", (run) => {
    keepUnsent(run, task.value);
    keepUnsent(null, "");
  });
  on("reset", () => {
    if (session.run !== shown) restore();
    shown = session.run;
  });
  on("asked", ({ text }) => {
    for (const run of [session.run, null]) if (unsent(run).trim() === text.trim()) keepUnsent(run, "");
    if (task.value.trim() === text.trim()) fill(task, "");
  });
}

function mountKeys(task, sender) {
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) sender.byKey();
    else if (event.key === "Escape") sender.leave();
  });
}

/** Arrow up in an empty box recalls sent texts; arrow down returns to the newest. */
function mountHistory(task) {
  let texts = [];
  let at = 0;
  task.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by || event.shiftKey || event.isComposing) return;
    if (!task.value) [texts, at] = [sent(), sent().length];
    else if (task.value !== texts[at]) return;
    const to = Math.max(0, at + by);
    if (to > texts.length || (to === at && task.value)) return;
    event.preventDefault();
    at = Math.min(to, texts.length);
    fill(task, texts[at] ?? "");
  });
}

export function mountNotice(element, props, watch) {
  const box = element.querySelector(".notice");
  const [text, connect, close] = ["words", "connect", "close"].map((name) => box.querySelector(`.${name}`));
  close.append(icon("close"));
  const show = (notice) => {
    box.hidden = !notice;
    text.textContent = notice?.text ?? "";
    connect.hidden = !notice?.connect;
    if (notice?.connect) openSettings();
  };
  connect.addEventListener("click", openSettings);
  close.addEventListener("click", () => show(null));
  watch("value", () => show(props.value));
  on("notice", show);
  on("asked", () => show(null));
}
