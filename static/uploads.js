// Files on their way into the run's workspace, a few at a time, each with its percentage.

import { h, icon } from "./dom.js";
import { bytes } from "./format.js";
import { api, ask, attach, emit, on, runApi, session } from "./session.js";

const AT_ONCE = 3; // a browser has six connections, and the run's stream is one
const waiting = [];
let coming = 0; // given, but there is no run yet for them to go to
let sending = 0;
let draft = null;

export const underWay = () => coming + sending + waiting.length;

/** The run that files go to; one draft, also where two drops follow fast. */
async function someRun() {
  if (session.run) return;
  draft ??= ask(api("runs"), { method: "POST" }).finally(() => (draft = null));
  attach((await draft).run);
}

export function mountUploads(element) {
  const chips = element.querySelector(".chips");
  const input = element.querySelector("input");
  const choose = element.querySelector(".choose");
  choose.prepend(icon("clip"));
  choose.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    give([...input.files]);
    input.value = "";
  });
  on("give", ({ files, folder }) => give(files, folder));
  on("asked", () => underWay() || chips.replaceChildren());
  on("reset", () => underWay() || chips.replaceChildren());
  mountDrop();

  async function give(files, folder = "input") {
    if (!files.length) return;
    coming += files.length;
    emit("uploads");
    try {
      await someRun();
      waiting.push(...files.map((file) => new Upload(file, folder, chips)));
    } catch (error) {
      emit("not-sent", error.message);
    } finally {
      coming -= files.length;
    }
    next();
  }
}

function next() {
  while (sending < AT_ONCE && waiting.length) {
    sending++;
    waiting.shift().send();
  }
  emit("uploads");
}

class Upload {
  constructor(file, folder, chips) {
    this.file = file;
    this.percent = h("span", { class: "num" }, "waiting");
    this.name = h("b", {}, file.name);
    const remove = h("button", { type: "button", class: "quiet", "aria-label": `Remove ${file.name}`, onclick: () => this.remove() }, icon("close"));
    this.chip = h("span", { class: "chip" }, icon("file"), this.name, this.percent, remove);
    chips.append(this.chip);
    const path = [folder, file.name].filter(Boolean).map(encodeURIComponent).join("/");
    this.address = runApi(`files/${path.replace(/%2F/g, "/")}`);
  }

  send() {
    this.request = new XMLHttpRequest();
    this.request.open("PUT", this.address);
    this.request.upload.addEventListener("progress", ({ loaded, total }) => {
      this.percent.textContent = `${Math.floor((100 * loaded) / (total || 1))} %`;
    });
    this.request.addEventListener("loadend", () => this.arrived());
    this.percent.textContent = "0 %";
    this.request.send(this.file);
  }

  arrived() {
    sending--;
    const entry = this.request.status === 201 ? JSON.parse(this.request.response) : null;
    if (entry) {
      this.percent.textContent = bytes(entry.size);
      this.name.textContent = entry.name;
      this.kept = runApi(`files/${entry.path}`);
    } else if (this.chip.isConnected) {
      this.chip.classList.add("bad");
      this.percent.textContent = "not sent";
      emit("not-sent", reason(this.request, this.file));
    }
    next();
  }

  async remove() {
    const at = waiting.indexOf(this);
    if (at >= 0) waiting.splice(at, 1);
    else if (!this.kept) this.request.abort();
    if (this.kept) await fetch(this.kept, { method: "DELETE" }).catch(() => {});
    this.chip.remove();
    emit("uploads");
    document.querySelector("#task textarea").focus();
  }
}

function reason(request, file) {
  try {
    return JSON.parse(request.response).error;
  } catch {
    return `${file.name} could not be sent: it is a folder, or the connection broke off.`;
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
