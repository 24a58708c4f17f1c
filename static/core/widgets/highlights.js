// Matches of a search in the text of an element, and their highlights.

const MAX_RANGES = 500; // highlights per element

/** Highlighted ranges, if the browser supports the CSS Custom Highlight API. */
export class Highlights {
  constructor(name) {
    if (!globalThis.CSS?.highlights) return;
    this.all = new Highlight();
    CSS.highlights.set(name, this.all);
  }

  add(range) {
    this.all?.add(range);
  }

  clear() {
    this.all?.clear();
  }
}

/** Find matches in an element's text, also across text nodes. */
export function* matchRanges(root, query) {
  const nodes = [];
  let text = "";
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    nodes.push([text.length, walker.currentNode]);
    text += /** @type {Text} */ (walker.currentNode).data;
  }
  const pattern = new RegExp(query.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"), "giu");
  let at = 0;
  let count = 0;
  const locate = (offset) => {
    while (at + 1 < nodes.length && nodes[at + 1][0] <= offset) at++;
    return [nodes[at][1], offset - nodes[at][0]];
  };
  for (const match of text.matchAll(pattern)) {
    const [startContainer, startOffset] = locate(match.index);
    const [endContainer, last] = locate(match.index + match[0].length - 1);
    yield new StaticRange({ startContainer, startOffset, endContainer, endOffset: last + 1 });
    if (++count >= MAX_RANGES) return;
  }
}

/** A Range, which has a position on the screen, from a StaticRange. */
export function toRange({ startContainer, startOffset, endContainer, endOffset }) {
  const range = new Range();
  range.setStart(startContainer, startOffset);
  range.setEnd(endContainer, endOffset);
  return range;
}
