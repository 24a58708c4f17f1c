// Paths in what was said, run and answered: those that name a file of the run become links to it.

import { h } from "./dom.js";
import { shownPath } from "./format.js";
import { emit, on, persist, runApi, session } from "./session.js";

const PAUSE = 40; // ms in which what is to be looked at is gathered
const SCANNED = 100_000; // characters of one element
const ASKED = 400; // words that are asked for at once
const MOST = 300; // links in one element
const LONGEST = 300;
const MISSED = 500; // words that are remembered as no file yet
const WORD = /(?<![\p{L}\p{N}_/.~@%-])[\p{L}\p{N}_./~@%+,-]+/gu;
const QUOTED = /(["'`])([^"'`\n]{1,200}? [^"'`\n]{1,200}?)\1/gu;
const FILE = /[^/.][^/]*\.[A-Za-z][A-Za-z0-9]{0,9}$/;
const HOME = "/workspace/";
const NOT_IN = "a, button, summary, input, textarea, .foot";

const known = new Map(); // word → path, or null
let waiting = new Map(); // element → what is done once its links are there
const missed = new Map(); // word that is no file yet → the elements it stands in, and what is done there
let timer = 0;

on("reset", () => {
  known.clear();
  missed.clear();
  waiting = new Map();
});
on("changed", ({ changes }) => {
  forget();
  for (const { what, path } of changes) if (what === "added") again(shownPath(path));
});
on("workspace", forget);

/** What was no file may be one now. */
function forget() {
  for (const [word, path] of known) if (path === null) known.delete(word);
}

/** Where a file was named before it was there, its name becomes a link now. */
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

/** Make links of the paths in an element whose text is what it stays. */
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
    await learn([...words].sort((a, b) => b.includes("/") - a.includes("/")).slice(0, ASKED));
  } catch {
    return; // it can be read without
  }
  if (run !== session.run) return;
  for (const [element, all] of found) {
    for (const { word } of all) if (known.get(word) === null) miss(word, element, batch.get(element));
    if (wrap(all)) batch.get(element)();
  }
}

async function learn(words) {
  if (!words.length) return;
  const answer = await persist(runApi("named"), { method: "POST", body: JSON.stringify(words) });
  if (!answer.ok) throw new Error("Not answered.");
  const { named } = await answer.json();
  for (const word of words) known.set(word, Object.hasOwn(named, word) ? named[word] : null);
}

/** Where in an element's text something stands that looks like a path. */
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

/** Whether any of these places became a link. */
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
  const made = h("a", { class: "path", href: new URL(`look?${query}`, document.baseURI).href, title: "Look at this file" }, text.cloneNode());
  made.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    emit("look", path);
  });
  return made;
}
