// Turns paths in messages, commands and output into links if they name a file of the run.

import { h } from "./dom.js";
import { shownPath } from "./format.js";
import { emit, on, persist, runApi, session } from "./session.js";

const PAUSE = 40; // ms in which elements to scan are collected
const SCANNED = 100_000; // characters of one element
const ASKED = 400; // words per request
const MOST = 300; // links in one element
const LONGEST = 300;
const MISSED = 500; // remembered words that do not name a file yet
const WORD = /(?<![\p{L}\p{N}_/.~@%-])[\p{L}\p{N}_./~@%+,-]+/gu;
const QUOTED = /(["'`])([^"'`\n]{1,200}? [^"'`\n]{1,200}?)\1/gu;
const FILE = /[^/.][^/]*\.[A-Za-z][A-Za-z0-9]{0,9}$/;
const HOME = "/workspace/";
const NOT_IN = "a, button, summary, input, textarea, .foot";

const known = new Map(); // word → path, or null
let waiting = new Map(); // element → callback once its links exist
const missed = new Map(); // word that names no file yet → elements that contain it, with callbacks
let timer = 0;

on("reset", () => {
  known.clear();
  missed.clear();
  waiting = new Map();
});
on("changed", ({ changes }) => {
  forget();
  for (const { kind, path } of changes) if (kind === "added") again(shownPath(path));
});
on("workspace", forget);

/** Forget unknown words: they may name files now. */
function forget() {
  for (const [word, path] of known) if (path === null) known.delete(word);
}

/** Link a file name that was mentioned before the file existed. */
function again(path) {
  if (!missed.size) return;
  for (const word of [path, HOME + path, `./${path}`, path.slice(path.lastIndexOf("/") + 1)]) {
    for (const [element, done] of missed.get(word) ?? []) if (element.isConnected) link(element, done);
    missed.delete(word);
  }
}

function miss(word, element, done) {
  if (!missed.has(word)) missed.set(word, new Map());
  missed.get(word).set(element, done);
  if (missed.size > MISSED) missed.delete(missed.keys().next().value);
}

/** Link the paths in an element whose text is final. */
export function link(element, done = () => {}) {
  if (!session.run || session.mode === "plain") return;
  waiting.set(element, done);
  timer ||= setTimeout(work, PAUSE);
}

async function work() {
  timer = 0;
  const run = session.run;
  const batch = waiting;
  waiting = new Map();
  const found = [...batch.keys()].map((element) => [element, places(element)]);
  const words = new Set(found.flatMap(([, all]) => all.map(({ word }) => word)).filter((word) => !known.has(word)));
  try {
    await learn([...words].sort((a, b) => b.includes("/") - a.includes("/")));
  } catch {
    return; // links are optional
  }
  if (run !== session.run) return;
  for (const [element, all] of found) {
    for (const { word } of all) if (known.get(word) === null) miss(word, element, batch.get(element));
    if (wrap(all)) batch.get(element)();
  }
}

/** Ask the server which of these words name files, in batches. */
async function learn(words) {
  const run = session.run;
  for (let at = 0; at < words.length && run === session.run; at += ASKED) {
    const some = words.slice(at, at + ASKED);
    const answer = await persist(runApi("named"), { method: "POST", body: JSON.stringify(some) });
    if (!answer.ok) throw new Error("Not answered.");
    const { named } = await answer.json();
    if (run === session.run) for (const word of some) known.set(word, Object.hasOwn(named, word) ? named[word] : null);
  }
}

/** Find path-like words in an element's text. */
function places(element) {
  const found = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let scanned = 0;
  while (walker.nextNode() && scanned < SCANNED) {
    const node = walker.currentNode;
    if (node.parentElement.closest(NOT_IN)) continue;
    scanned += node.data.length;
    found.push(...inText(node, node.data.slice(0, SCANNED)));
  }
  return found;
}

function* inText(node, text) {
  for (const match of text.matchAll(QUOTED)) {
    if (likely(match[2])) yield { node, at: match.index + 1, word: match[2] };
  }
  if (node.parentElement.matches("code") && text.includes(" ") && likely(text)) yield { node, at: 0, word: text };
  for (const match of text.matchAll(WORD)) {
    const word = match[0].replace(/[.,/~+%-]+$/, "");
    if (likely(word)) yield { node, at: match.index, word };
  }
}

function likely(word) {
  if (word.length > LONGEST || word.includes("//") || /(^|\/)\.\.(\/|$)/.test(word)) return false;
  if (word.startsWith("/")) return word.startsWith(HOME);
  return FILE.test(word) || /[^/.]\/[^/]/.test(word);
}

/** Wrap matches in links; return whether any became one. */
function wrap(all) {
  const byNode = Map.groupBy(all.filter(({ word }) => known.get(word)), ({ node }) => node);
  let links = 0;
  for (const [node, found] of byNode) {
    const chosen = [];
    for (const place of found) if (!chosen.some((other) => overlap(place, other))) chosen.push(place);
    for (const { at, word } of chosen.sort((a, b) => b.at - a.at)) {
      if (links >= MOST || !node.isConnected || node.data.slice(at, at + word.length) !== word) continue;
      const text = node.splitText(at);
      text.splitText(word.length);
      text.replaceWith(anchor(known.get(word), text));
      links++;
    }
  }
  return links > 0;
}

const overlap = (one, other) => one.at < other.at + other.word.length && other.at < one.at + one.word.length;

function anchor(path, text) {
  const query = new URLSearchParams({ run: session.run, path });
  const made = h("a", { class: "path", href: new URL(`look?${query}`, document.baseURI).href, title: "Open this file" }, text.cloneNode());
  made.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    emit("look", path);
  });
  return made;
}
