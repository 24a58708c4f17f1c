// What the person gives: text, files, Run and Stop, and what could not be done.

import { appear, h, icon } from "./dom.js";
import { bytes } from "./format.js";
import { api, ask, attach, emit, on, runApi, session } from "./session.js";
import { openSettings } from "./welcome.js";

const button = (id) => document.getElementById(id);
let underWay = 0;
let runWhenDone = false;

/** The run that files go to; a draft where there is none yet. */
async function someRun() {
  if (!session.run) attach((await ask(api("runs"), { method: "POST" })).run);
  return session.run;
}

export async function mountAttachments(element) {
  const chips = element.querySelector(".chips");
  const input = element.querySelector("input");
  element.querySelector(".choose").prepend(icon("clip"));
  element.querySelector(".choose").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    give([...input.files]);
    input.value = "";
  });
  on("give", ({ files, folder }) => give(files, folder));
  on("asked", () => chips.replaceChildren());
  on("reset", () => !underWay && chips.replaceChildren());
  mountDrop();
  await mountButtons();

  async function give(files, folder = "input") {
    if (!files.length) return;
    try {
      await someRun();
    } catch (error) {
      emit("notice", { text: error.message });
      return;
    }
    for (const file of files) send(file, folder, chips);
  }
}

function send(file, folder, chips) {
  const percent = h("span", { class: "num" }, "0 %");
  const remove = h("button", { type: "button", class: "quiet", "aria-label": `Remove ${file.name}` }, icon("close"));
  const chip = h("span", { class: "chip" }, icon("file"), h("b", {}, file.name), percent, remove);
  chips.append(chip);
  const request = new XMLHttpRequest();
  const path = [folder, file.name].filter(Boolean).map(encodeURIComponent).join("/");
  request.open("PUT", runApi(`files/${path.replace(/%2F/g, "/")}`));
  request.upload.addEventListener("progress", (e) => {
    percent.textContent = `${Math.floor((100 * e.loaded) / (e.total || 1))} %`;
  });
  request.addEventListener("loadend", () => arrived(request, chip, percent, remove));
  remove.addEventListener("click", () => (request.abort(), chip.remove()), { once: true });
  underWay++;
  request.send(file);
}

function arrived(request, chip, percent, remove) {
  underWay--;
  const entry = request.status === 201 ? JSON.parse(request.response) : null;
  if (entry) {
    percent.textContent = bytes(entry.size);
    chip.querySelector("b").textContent = entry.name;
    const address = runApi(`files/${entry.path}`);
    remove.addEventListener("click", () => fetch(address, { method: "DELETE" }), { once: true });
  } else if (chip.isConnected) {
    chip.classList.add("bad");
    percent.textContent = "not sent";
    emit("notice", { text: reason(request) });
  }
  if (!underWay && runWhenDone) {
    runWhenDone = false;
    if (entry) button("run").click();
  }
}

function reason(request) {
  try {
    return JSON.parse(request.response).error;
  } catch {
    return "A file could not be sent: the connection broke off.";
  }
}

function mountDrop() {
  const veil = h("div", { class: "veil", hidden: true }, h("span", {}, "Drop files for the model here"));
  document.body.append(veil);
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    veil.hidden = false;
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget || (veil.hidden = true));
  document.addEventListener("drop", (event) => {
    veil.hidden = true;
    if (!carries(event)) return;
    event.preventDefault();
    emit("give", { files: [...event.dataTransfer.files] });
  });
}

async function mountButtons() {
  const [task] = await Promise.all(["#task textarea", "#run", "#stop"].map(appear));
  button("run").addEventListener("click", (event) => {
    // What is in the box counts, also where Gradio was not there yet when it was written.
    task.dispatchEvent(new Event("input", { bubbles: true }));
    if (!underWay) return;
    event.stopImmediatePropagation();
    runWhenDone = true;
  }, true);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) button("run").click();
    else if (event.key === "Escape" && session.alive) button("stop").click();
  });
  const settle = () => {
    button("run").disabled = session.alive;
    button("stop").disabled = !session.alive;
    task.placeholder = session.begun
      ? "Say something to the model, or drop files anywhere"
      : "What should the model do? Drop files anywhere";
  };
  on("head", settle);
  on("reset", settle);
  settle();
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
