// An element whose text appears as if it were being written.

export class Typing {
  constructor(element) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    this.texts = [];
    this.length = 0;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = /** @type {Text} */ (node);
      this.texts.push({ node: text, text: text.data });
      this.length += text.length;
    }
  }

  /** Show a share of the text, from 0 to 1. */
  show(share) {
    let left = Math.round(this.length * share);
    for (const { node, text } of this.texts) {
      const shown = text.slice(0, left);
      if (node.data !== shown) node.data = shown;
      left = Math.max(0, left - text.length);
    }
  }
}
