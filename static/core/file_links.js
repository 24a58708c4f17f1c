// Turns paths in messages, commands and output into links if they name a file of the run.

import { h } from "./dom.js";
import { decodePath } from "./format.js";
import { emit, on, fetchWithRetry, runApiUrl, currentRun } from "./event_stream.js";

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

const resolved = new Map(); // word → path, or null
let queue = new Map(); // element → callback once its links exist
const missing = new Map(); // word that names no file yet → elements that contain it, with callbacks
let timer = 0;

on("reset", () => {
  resolved.clear();
  missing.clear();
  queue = new Map();
});
on("files-changed", ({ changes }) => {
  forgetMissing();
  for (const { kind, path } of changes) if (kind === "added") linkCreatedFile(decodePath(path));
});
on("workspace", forgetMissing);

/** Forget unknown words: they may name files now. */
function forgetMissing() {
  for (const [word, path] of resolved) if (path === null) resolved.delete(word);
}

/** Link a file name that was mentioned before the file existed. */
function linkCreatedFile(path) {
  if (!missing.size) return;
  for (const word of [path, HOME + path, `./${path}`, path.slice(path.lastIndexOf("/") + 1)]) {
    for (const [element, done] of missing.get(word) ?? []) if (element.isConnected) linkFiles(element, done);
    missing.delete(word);
  }
}

function rememberMissing(word, element, done) {
  if (!missing.has(word)) missing.set(word, new Map());
  missing.get(word).set(element, done);
  if (missing.size > MAX_MISSING) missing.delete(missing.keys().next().value);
}

/** Link the paths in an element whose text is final. */
export function linkFiles(element, done = () => {}) {
  if (!currentRun.id || currentRun.mode === "plain") return;
  queue.set(element, done);
  timer ||= setTimeout(processQueue, BATCH_MS);
}

async function processQueue() {
  timer = 0;
  const run = currentRun.id;
  const batch = queue;
  queue = new Map();
  const candidates = [...batch.keys()].map((element) => [element, findCandidates(element)]);
  const words = new Set(candidates.flatMap(([, all]) => all.map(({ word }) => word)).filter((word) => !resolved.has(word)));
  try {
    await resolveWords([...words].sort((a, b) => b.includes("/") - a.includes("/")));
  } catch {
    return; // links are optional
  }
  if (run !== currentRun.id) return;
  for (const [element, all] of candidates) {
    for (const { word } of all) if (resolved.get(word) === null) rememberMissing(word, element, batch.get(element));
    if (insertLinks(all)) batch.get(element)();
  }
}

/** Ask the server which of these words name files, in batches. */
async function resolveWords(words) {
  const run = currentRun.id;
  for (let at = 0; at < words.length && run === currentRun.id; at += BATCH_SIZE) {
    const chunk = words.slice(at, at + BATCH_SIZE);
    const response = await fetchWithRetry(runApiUrl("file-links"), { method: "POST", body: JSON.stringify(chunk) });
    if (!response.ok) throw new Error("Not answered.");
    const { paths } = await response.json();
    if (run === currentRun.id) for (const word of chunk) resolved.set(word, Object.hasOwn(paths, word) ? paths[word] : null);
  }
}

/** Find path-like words in an element's text. */
function findCandidates(element) {
  const candidates = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let scanned = 0;
  while (walker.nextNode() && scanned < MAX_SCANNED) {
    const node = walker.currentNode;
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

/** Wrap matches in links; return whether any became one. */
function insertLinks(all) {
  const byNode = Map.groupBy(all.filter(({ word }) => resolved.get(word)), ({ node }) => node);
  let links = 0;
  for (const [node, matches] of byNode) {
    const selected = [];
    for (const match of matches) if (!selected.some((other) => overlap(match, other))) selected.push(match);
    for (const { at, word } of selected.sort((a, b) => b.at - a.at)) {
      if (links >= MAX_LINKS || !node.isConnected || node.data.slice(at, at + word.length) !== word) continue;
      const text = node.splitText(at);
      text.splitText(word.length);
      text.replaceWith(createLink(resolved.get(word), text));
      links++;
    }
  }
  return links > 0;
}

const overlap = (one, other) => one.at < other.at + other.word.length && other.at < one.at + one.word.length;

function createLink(path, text) {
  const query = new URLSearchParams({ run: currentRun.id, path });
  const link = h("a", { class: "path", href: new URL(`look?${query}`, document.baseURI).href, title: "Open this file" }, text.cloneNode());
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    emit("open-file", path);
  });
  return link;
}
