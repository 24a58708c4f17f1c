// What the person gives: text, files, Run and Stop, and what could not be done.

import { appear, icon } from "./dom.js";
import { mountExamples } from "./examples.js";
import { plural } from "./format.js";
import { keepSent, sent } from "./memory.js";
import { emit, on, session } from "./session.js";
import { mountUploads, underWay } from "./uploads.js";
import { openSettings } from "./welcome.js";

const button = (id) => document.getElementById(id);
const KEYS = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘ Enter" : "Ctrl Enter";

export async function mountTools(element) {
  mountUploads(element);
  mountExamples(element);
  const [task] = await Promise.all(["#task textarea", "#run", "#stop"].map(appear));
  const sender = new Sender(task, element.querySelector(".hint"));
  mountKeys(task, sender);
  mountHistory(task);
  // Gradio's own focus comes while the page is not shown yet; no keyboard jumps up on a phone.
  addEventListener("mounted", () => matchMedia("(pointer: fine)").matches && task.focus(), { once: true });
}

/** Run and Stop: what they do now, or why they do not. */
class Sender {
  constructor(task, hint) {
    Object.assign(this, { task, hint, waits: false });
    button("run").setAttribute("aria-describedby", hint.id);
    button("run").addEventListener("click", (event) => this.pressed(event), true);
    on("uploads", () => this.uploads());
    on("not-sent", (text) => {
      this.waits = false;
      emit("notice", { text });
    });
    for (const name of ["head", "reset"]) on(name, () => this.settle());
    this.settle();
  }

  pressed(event) {
    // What is in the box counts, also where Gradio was not there yet when it was written.
    write(this.task, this.task.value);
    if (!underWay()) return keepSent(this.task.value.trim());
    event.stopImmediatePropagation();
    this.waits = true;
    return this.settle();
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
      ? "Say something to the model, or drop files anywhere"
      : "What should the model do? Drop files anywhere";
  }

  state() {
    const files = plural(underWay(), "file");
    if (session.alive) return "At work: send when it ends";
    if (!underWay()) return KEYS;
    return this.waits ? `Runs when ${files} arrived` : `${files} on the way`;
  }

  tell(words) {
    if (this.hint.textContent !== words) this.hint.textContent = words;
    this.hint.classList.toggle("keys", words === KEYS);
  }

  /** Run by keyboard; a run that is at work says that it is. */
  byKey() {
    if (!session.alive) button("run").click();
    else if (this.task.value.trim()) this.tell("Not sent: the run is still at work");
  }

  /** Stop the run, or waiting for files. */
  leave() {
    if (session.alive) button("stop").click();
    this.waits = false;
    this.settle();
  }
}

function write(task, text) {
  task.value = text;
  task.dispatchEvent(new Event("input", { bubbles: true }));
}

function mountKeys(task, sender) {
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) sender.byKey();
    else if (event.key === "Escape") sender.leave();
  });
}

/** Arrow up in an empty box brings back what was sent, arrow down leads to the present. */
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
    write(task, texts[at] ?? "");
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
