// Runs in every measured page: records when each mark first appears, and long tasks.
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

  const tasks = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) tasks.push([entry.startTime, entry.duration]);
  }).observe({ type: "longtask" });

  window.bench = {
    seen,
    longest: (since) => Math.max(0, ...tasks.filter(([start]) => start >= since).map(([, took]) => took)),

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

    /** Scroll from the end to the beginning; the milliseconds between the frames. */
    scrollUp: (element, screens) =>
      new Promise((resolve) => {
        const gaps = [];
        let last = performance.now();
        const step = (at) => {
          gaps.push(at - last);
          last = at;
          element.scrollTop -= screens * element.clientHeight;
          if (element.scrollTop > 0) requestAnimationFrame(step);
          else resolve(gaps.slice(1));
        };
        requestAnimationFrame(step);
      }),
  };
})();
