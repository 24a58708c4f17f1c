// Turns paths in messages, commands and output into links if they name a file of the run.

import { h, plainClick } from "../dom.js";
import { decodePath } from "../format.js";
import { fetchWithRetry } from "../loading/fetch.js";

const BATCH_MS = 40; // ms in which elements to scan are collected
const MAX_SCANNED = 100_000; // characters of one element
const BATCH_SIZE = 400; // words per request
const MAX_LINKS = 300; // links in one element
const MAX_LENGTH = 300;
const MAX_MISSING = 500; // remembered words that do not name a file yet
const WORD = /(?<![\p{L}\p{N}_/.~@%-])[\p{L}\p{N}_./~@%+,-]+/gu;
const QUOTED = /(["'`])([^"'`\n]{1,200}? [^"'`\n]{1,200}?)\1/gu;
const FILE = /[^/.][^/]*\.[A-Za-z][A-Za-z0-9]{0,9}$/;
const HOME = "/workspace/";
const EXCLUDED = "a, button, summary, input, textarea, .card-footer";

const linkers = new WeakMap(); // run → its FileLinks

/** Link the paths in an element of a run whose text is final; `done` is called if there are any. */
export function linkFiles(run, element, done = () => {}) {
  if (!run.id || run.mode === "plain") return;
  if (!linkers.has(run)) linkers.set(run, new FileLinks(run));
  linkers.get(run).add(element, done);
}

/** What is known about the words that may name files of one run. */
class FileLinks {
  constructor(run) {
    this.run = run;
    this.timer = 0;
    this.changes = 0; // steps that changed files
    this.reset();
    run.on("reset", () => this.reset());
    run.on("files-changed", ({ changes }) => {
      this.changes++;
      this.forgetMissing();
      for (const { kind, path } of changes) if (kind === "added") this.linkCreatedFile(decodePath(path));
    });
    run.on("workspace", () => this.forgetMissing());
  }

  reset() {
    this.resolved = new Map(); // word → path, or null
    this.missing = new Map(); // word that names no file yet → elements that contain it, with callbacks
    this.queue = new Map(); // element → callback once its links exist
  }

  add(element, done) {
    this.queue.set(element, done);
    this.timer ||= setTimeout(() => this.processQueue(), BATCH_MS);
  }

  /** Forget unknown words: they may name files now. */
  forgetMissing() {
    for (const [word, path] of this.resolved) if (path === null) this.resolved.delete(word);
  }

  /** Link a file name that was mentioned before the file existed. */
  linkCreatedFile(path) {
    if (!this.missing.size) return;
    for (const word of [path, HOME + path, `./${path}`, path.slice(path.lastIndexOf("/") + 1)]) {
      for (const [element, done] of this.missing.get(word) ?? []) if (element.isConnected) linkFiles(this.run, element, done);
      this.missing.delete(word);
    }
  }

  rememberMissing(word, element, done) {
    const { missing } = this;
    if (!missing.has(word)) missing.set(word, new Map());
    missing.get(word).set(element, done);
    if (missing.size > MAX_MISSING) missing.delete(missing.keys().next().value);
  }

  async processQueue() {
    this.timer = 0;
    const { id } = this.run;
    const { changes } = this;
    const batch = this.queue;
    this.queue = new Map();
    const candidates = [...batch.keys()].map((element) => [element, findCandidates(element)]);
    const words = new Set(candidates.flatMap(([, all]) => all.map(({ word }) => word)).filter((word) => !this.resolved.has(word)));
    try {
      await this.resolveWords([...words].sort((a, b) => b.includes("/") - a.includes("/")));
    } catch {
      return; // links are optional
    }
    if (id !== this.run.id) return;
    for (const [element, all] of candidates) {
      const done = batch.get(element);
      const missing = all.map(({ word }) => word).filter((word) => this.resolved.get(word) === null);
      if (missing.length && changes !== this.changes) {
        for (const word of missing) this.resolved.delete(word); // its file may have been created since the server looked
        this.add(element, done);
      } else for (const word of missing) this.rememberMissing(word, element, done);
      if (this.insertLinks(all)) done();
    }
  }

  /** Ask the server which of these words name files, in batches. */
  async resolveWords(words) {
    const { run, resolved } = this;
    const { id } = run;
    for (let at = 0; at < words.length && id === run.id; at += BATCH_SIZE) {
      const chunk = words.slice(at, at + BATCH_SIZE);
      const response = await fetchWithRetry(run.url("file-links"), { method: "POST", body: JSON.stringify(chunk) });
      if (!response.ok) throw new Error("Not answered.");
      const { paths } = await response.json();
      if (id === run.id) for (const word of chunk) resolved.set(word, Object.hasOwn(paths, word) ? paths[word] : null);
    }
  }

  /** Wrap matches in links; return whether any became one. */
  insertLinks(all) {
    const byNode = Map.groupBy(
      all.filter(({ word }) => this.resolved.get(word)),
      ({ node }) => node,
    );
    let links = 0;
    for (const [node, matches] of byNode) {
      const selected = [];
      for (const match of matches) if (!selected.some((other) => overlap(match, other))) selected.push(match);
      for (const { at, word } of selected.sort((a, b) => b.at - a.at)) {
        if (links >= MAX_LINKS || !node.isConnected || node.data.slice(at, at + word.length) !== word) continue;
        const text = node.splitText(at);
        text.splitText(word.length);
        text.replaceWith(createLink(this.run, this.resolved.get(word), text));
        links++;
      }
    }
    return links > 0;
  }
}

/** Find path-like words in an element's text. */
function findCandidates(element) {
  const candidates = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let scanned = 0;
  while (walker.nextNode() && scanned < MAX_SCANNED) {
    const node = /** @type {Text} */ (walker.currentNode);
    if (node.parentElement.closest(EXCLUDED)) continue;
    scanned += node.data.length;
    candidates.push(...candidatesIn(node, node.data.slice(0, MAX_SCANNED)));
  }
  return candidates;
}

function* candidatesIn(node, text) {
  for (const match of text.matchAll(QUOTED)) {
    if (looksLikePath(match[2])) yield { node, at: match.index + 1, word: match[2] };
  }
  if (node.parentElement.matches("code") && text.includes(" ") && looksLikePath(text)) yield { node, at: 0, word: text };
  for (const match of text.matchAll(WORD)) {
    const word = match[0].replace(/[.,/~+%-]+$/, "");
    if (looksLikePath(word)) yield { node, at: match.index, word };
  }
}

function looksLikePath(word) {
  if (word.length > MAX_LENGTH || word.includes("//") || /(^|\/)\.\.(\/|$)/.test(word)) return false;
  if (word.startsWith("/")) return word.startsWith(HOME);
  return FILE.test(word) || /[^/.]\/[^/]/.test(word);
}

const overlap = (one, other) => one.at < other.at + other.word.length && other.at < one.at + one.word.length;

function createLink(run, path, text) {
  const query = new URLSearchParams({ run: run.id, path });
  const href = new URL(`look?${query}`, document.baseURI).href;
  const onclick = plainClick(() => run.emit("open-file", path));
  return h("a", { class: "path", href, title: "Open this file", onclick }, text.cloneNode());
}
