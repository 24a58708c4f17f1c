// The inspector: what a step sent to the model and what came back, and the run's settings.

import { copyText, h, iconButton } from "../core/dom.js";
import { apiUrl, on } from "../core/event_stream.js";
import { fetchJson, fetchWithRetry } from "../core/loading/fetch.js";
import { formatBytes, formatNumber, formatSeconds } from "../core/format.js";
import { openDialog } from "../core/widgets/dialog.js";
import { fact, requestPage } from "./request_page.js";
import { runPage } from "./run_page.js";
import { Section, SectionSearch } from "./sections.js";

const PAGES = { request: "Request", response: "Response", run: "Run and settings" };
const FORMS = { curl: "Copy as curl", python: "Copy as Python", json: "Copy as JSON" };
let opened = null;

/** Open the inspector of a run by id, at a step and a page: request, response or run. */
export function openInspector({ run, step, page = "request" }) {
  opened = new Inspector(run, step, page);
}

on("reset", () => opened?.dialog.close());

class Inspector {
  constructor(run, step, page) {
    this.run = run;
    this.step = step;
    this.page = page;
    this.attempt = 0;
    this.requests = 0;
    this.build();
    this.heading.focus();
    this.show();
  }

  build() {
    const button = (name, label, onclick, keys) => iconButton(name, label, onclick, { class: "quiet", title: `${label} (${keys})`, "aria-keyshortcuts": keys });
    this.attempts = h("select", { "aria-label": "Request of this step", hidden: true, onchange: () => this.choose(Number(this.attempts.value)) });
    this.before = button("up", "Step before", () => this.go(-1), "[");
    this.after = button("down", "Next step", () => this.go(1), "]");
    this.tabs = Object.entries(PAGES).map(([page, label]) =>
      h("button", { role: "tab", id: `inspector-${page}`, "aria-controls": "inspector-page", onclick: () => this.turnTo(page) }, label),
    );
    this.copies = Object.entries(FORMS).map(([form, label]) =>
      h("button", { class: "quiet", onclick: (event) => copyText(this.fetchForm(form), event.currentTarget) }, label),
    );
    this.body = h("div", { class: "body", id: "inspector-page", role: "tabpanel", tabindex: "0" });
    this.search = new SectionSearch(this.body);
    this.dialog = openDialog(
      { name: "inspector", title: "", dismissible: true },
      h(
        "div",
        { class: "tools" },
        h("div", { class: "tabs", role: "tablist", "aria-label": "Pages" }, ...this.tabs),
        this.search.element,
        h("div", { class: "copies" }, ...this.copies),
      ),
      this.body,
    );
    this.heading = this.dialog.querySelector("h2");
    this.heading.after(this.attempts, this.before, this.after);
    this.dialog.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const tab = this.tabs.indexOf(event.target);
    const to = { ArrowLeft: tab - 1, ArrowRight: tab + 1 }[event.key];
    if (tab >= 0 && to !== undefined) {
      const next = this.tabs.at(to % this.tabs.length);
      next.focus();
      next.click();
    } else if (event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === "[") this.go(-1);
    else if (event.key === "]") this.go(1);
    else if (event.key === "/") this.search.field.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  go(by) {
    if (this.step + by < 1) return;
    this.step = this.step + by;
    this.attempt = 0;
    this.show();
  }

  choose(attempt) {
    this.attempt = attempt;
    this.show();
  }

  turnTo(page) {
    this.page = page;
    this.show();
  }

  address(path) {
    return apiUrl(`runs/${this.run}/${path}`);
  }

  stepAddress(what, query = "") {
    return this.address(`steps/${this.step}/${what}?attempt=${this.attempt}${query}`);
  }

  async fetchText(address) {
    const response = await fetchWithRetry(address);
    const text = await response.text();
    if (response.ok) return text;
    throw new Error(JSON.parse(text).error);
  }

  fetchForm(form) {
    return this.fetchText(this.stepAddress("request", `&as=${form}`));
  }

  /** Load and show the page; an answer that comes too late is ignored. */
  async show() {
    const number_ = ++this.requests;
    this.showHead();
    this.body.setAttribute("aria-busy", "true");
    let page;
    try {
      page = await { request: () => this.requestPage(), response: () => this.responsePage(), run: () => this.runPage() }[this.page]();
    } catch (error) {
      page = { elements: [h("p", { class: "note", role: "alert" }, error.message)], sections: [] };
    }
    if (number_ !== this.requests) return;
    this.body.removeAttribute("aria-busy");
    this.body.replaceChildren(...page.elements);
    this.body.scrollTop = 0;
    this.search.setSections(page.sections);
  }

  showHead() {
    const ofRun = this.page === "run";
    this.heading.textContent = ofRun ? "Run and settings" : `Step ${this.step}`;
    this.before.disabled = this.step <= 1;
    for (const each of [this.before, this.after]) each.hidden = ofRun;
    for (const each of this.copies) each.hidden = this.page !== "request";
    this.attempts.hidden = ofRun || this.attempts.childElementCount < 2;
    this.tabs.forEach((tab, at) => {
      const selected = Object.keys(PAGES)[at] === this.page;
      tab.setAttribute("aria-selected", String(selected));
      tab.tabIndex = selected ? 0 : -1;
      if (selected) this.body.setAttribute("aria-labelledby", tab.id);
    });
  }

  async requestPage() {
    const request = await fetchJson(this.stepAddress("request"));
    this.showAttempts(request);
    return requestPage(request, (name) => this.address(`outputs/${name}`));
  }

  showAttempts({ attempt, attempts }) {
    this.attempt = attempt;
    const options = Array.from({ length: attempts }, (_, at) => h("option", { value: at + 1 }, `Request ${formatNumber(at + 1)} of ${formatNumber(attempts)}`));
    this.attempts.replaceChildren(...options);
    this.attempts.value = String(attempt);
    this.attempts.hidden = attempts < 2;
  }

  async responsePage() {
    const request = await fetchJson(this.stepAddress("request"));
    this.showAttempts(request);
    const { response } = request;
    const facts = [];
    if (response.status) facts.push(fact("Status", String(response.status)));
    if (response.content_type) facts.push(fact("Type", response.content_type));
    if (response.bytes) facts.push(fact("Size", formatBytes(response.bytes)));
    if (response.seconds) facts.push(fact("Took", formatSeconds(response.seconds)));
    const elements = [h("dl", { class: "facts" }, ...facts)];
    if (!response.shown) return { elements: [...elements, h("p", { class: "note" }, response.note)], sections: [] };
    const section = new Section({
      title: "Raw response",
      texts: [{ title: "", text: await this.fetchText(this.stepAddress("response")) }],
      open: true,
      level: "whole",
    });
    return { elements: [...elements, section.element], sections: [section] };
  }

  async runPage() {
    return runPage(await fetchJson(this.address("requests")));
  }
}
