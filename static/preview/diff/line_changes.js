// Changes between two texts for @codemirror/merge: by line and, within a changed block, by word.
// The package's own comparison starts with characters and takes minutes for large texts.

import { loadLibrary } from "../../core/loading/libraries.js";

const TIMEOUT_MS = 700; // of each comparison; beyond it, a part counts as replaced
const MAX_BLOCK = 20_000; // characters of a changed block that is compared by word
const MIN_SIMILARITY = 0.3; // shared part of two blocks, below which they are marked as a whole
const MAX_WORD = 100; // characters
const WORD_START = /^[\p{L}\p{N}_\p{Cs}]+/u; // half a surrogate pair counts as part of a word
const WORD_END = /[\p{L}\p{N}_\p{Cs}]+$/u;

/** Load @codemirror/merge, with a `diffConfig` that compares by line, and `countLines`. */
export async function loadMerge() {
  const library = await loadLibrary("codemirror_merge");
  let last = {};
  const compare = (before, after) => {
    if (last.before !== before || last.after !== after) last = { before, after, blocks: changedBlocks(library, before, after) };
    return last.blocks;
  };
  const toChange = ([fromA, toA, fromB, toB]) => new library.Change(fromA, toA, fromB, toB);
  return {
    ...library,
    diffConfig: { override: (before, after) => [...changedWords(library, before, after, compare(before, after))].map(toChange) },
    countLines: (before, after) => countLines(before, after, compare(before, after)),
  };
}

/** Return how many lines were added and removed. */
function countLines(before, after, blocks) {
  const lines = (text) => (text ? text.replace(/\n$/, "").split("\n").length : 0);
  const sum = (parts) => parts.reduce((total, part) => total + lines(part), 0);
  return { removed: sum(blocks.map(([from, to]) => before.slice(from, to))), added: sum(blocks.map(([, , from, to]) => after.slice(from, to))) };
}

/** Return [fromA, toA, fromB, toB] of each block of lines that differs. */
export function changedBlocks({ diffArrays }, before, after) {
  const [a, b] = [before, after].map((text) => text.split(/(?<=\n)/));
  const { head, tail } = commonEnds(a, b);
  const [removed, added] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  const parts = diffArrays(removed, added, { timeout: TIMEOUT_MS }) ?? [...betweenAnchors(diffArrays, removed, added)];
  const start = lengthOf(a.slice(0, head));
  return [...differing(parts, start, start)];
}

/** Yield parts like `diffArrays`, which compares the lines between those that both texts have once. */
function* betweenAnchors(diffArrays, a, b) {
  const deadline = Date.now() + TIMEOUT_MS;
  let [atA, atB] = [0, 0];
  for (const [nextA, nextB] of [...anchors(a, b), [a.length, b.length]]) {
    const [removed, added] = [a.slice(atA, nextA), b.slice(atB, nextB)];
    const timeout = Math.max(0, deadline - Date.now());
    yield* diffArrays(removed, added, { timeout, maxEditLength: timeout ? undefined : 0 }) ?? [
      { removed: true, value: removed },
      { added: true, value: added },
    ];
    yield { value: a.slice(nextA, nextA + 1) };
    [atA, atB] = [nextA + 1, nextB + 1];
  }
}

/** Return the longest sequence of [index in a, index in b] of lines that both have once. */
function anchors(a, b) {
  const [inA, inB] = [a, b].map((lines) => {
    const found = new Map();
    lines.forEach((line, at) => found.set(line, found.has(line) ? -1 : at));
    return found;
  });
  const pairs = [...inA].map(([line, at]) => [at, inB.get(line) ?? -1]).filter(([first, second]) => first >= 0 && second >= 0);
  const [ends, before] = [[], []]; // the pair that ends the best sequence of each length, and each pair's predecessor
  pairs.forEach(([, second], index) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[ends[middle]][1] < second) low = middle + 1;
      else high = middle;
    }
    before[index] = ends[low - 1];
    ends[low] = index;
  });
  const found = [];
  for (let at = ends.at(-1); at !== undefined; at = before[at]) found.push(pairs[at]);
  return found.reverse();
}

/** Yield [fromA, toA, fromB, toB] of the words that differ within blocks. */
export function* changedWords(library, before, after, blocks) {
  const deadline = Date.now() + TIMEOUT_MS;
  for (const block of blocks) {
    const [fromA, toA, fromB, toB] = withoutCommonEnds(before, after, block);
    const [a, b] = [before.slice(fromA, toA), after.slice(fromB, toB)];
    const timeout = Math.max(a.length, b.length) <= MAX_BLOCK ? deadline - Date.now() : 0;
    const parts = a && b && timeout > 0 ? library.diffWordsWithSpace(a, b, { timeout }) : null;
    const found = parts ? [...differing(parts, fromA, fromB)] : [[fromA, toA, fromB, toB]];
    const changed = found.reduce((sum, [a0, a1, b0, b1]) => sum + Math.max(a1 - a0, b1 - b0), 0);
    const length = Math.max(block[1] - block[0], block[3] - block[2]);
    yield* length - changed < MIN_SIMILARITY * length ? [block] : found;
  }
}

/** Return a block without what both texts have at its start and end, in whole words. */
function withoutCommonEnds(before, after, [fromA, toA, fromB, toB]) {
  const [a, b] = [before.slice(fromA, toA), after.slice(fromB, toB)];
  const { head, tail } = commonEnds(a, b);
  const begins = [a, b].some((text) => WORD_START.test(text.slice(head, head + 2)));
  const ends = [a, b].some((text) => WORD_END.test(text.slice(0, text.length - tail).slice(-2)));
  const start = head - (begins ? (WORD_END.exec(a.slice(0, head).slice(-MAX_WORD))?.[0].length ?? 0) : 0);
  const end = tail - (ends ? (WORD_START.exec(a.slice(a.length - tail, a.length - tail + MAX_WORD))?.[0].length ?? 0) : 0);
  return [fromA + start, toA - end, fromB + start, toB - end];
}

/** Yield [fromA, toA, fromB, toB] of the parts of a jsdiff result that are not in both texts. */
function* differing(parts, startA, startB) {
  let [fromA, fromB, toA, toB] = [startA, startB, startA, startB];
  for (const { added, removed, value } of [...parts, { value: "" }]) {
    const length = lengthOf(value);
    if (removed) toA += length;
    else if (added) toB += length;
    else {
      if (toA > fromA || toB > fromB) yield [fromA, toA, fromB, toB];
      [fromA, fromB] = [toA, toB] = [toA + length, toB + length];
    }
  }
}

/** Return how many items two arrays or strings share at the start and, of the rest, at the end. */
export function commonEnds(a, b) {
  const limit = Math.min(a.length, b.length);
  let head = 0;
  while (head < limit && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < limit - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return { head, tail };
}

const lengthOf = (value) => (typeof value === "string" ? value.length : value.reduce((sum, line) => sum + line.length, 0));
