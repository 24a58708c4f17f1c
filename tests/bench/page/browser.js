// Runs in every measured page: records when each mark first appears.
(() => {
  const now = () => performance.timeOrigin + performance.now();
  const seen = {};
  const note = (text, at) => {
    for (const [, mark] of text.matchAll(/§(\d+)§/g)) seen[mark] ??= at / 1000;
  };
  new MutationObserver((records) => {
    const at = now();
    const texts = new Set();
    for (const record of records) {
      if (record.type === "characterData") texts.add(record.target);
      else for (const node of record.addedNodes) texts.add(node);
    }
    for (const node of texts) note(node.textContent ?? "", at); // a doctype has none
  }).observe(document, { subtree: true, childList: true, characterData: true });

  window.bench = {
    seen,

    /** Milliseconds from the navigation to the first frame in which the condition is true. */
    first: (isTrue) =>
      new Promise((resolve) => {
        const check = (at) => (isTrue() ? resolve(at) : requestAnimationFrame(check));
        requestAnimationFrame(check);
      }),

    inView: (element) => {
      const box = element?.getBoundingClientRect();
      return Boolean(box?.height) && box.bottom > 0 && box.top < innerHeight && element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    },
  };
})();
