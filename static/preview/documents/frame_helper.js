(() => {
  "use strict";
  if (parent === window) return;
  const prefix = /^.*?\/frames\/[^/]+\//.exec(location.href)?.[0];
  if (!prefix) return;
  const post = (type, data) => parent.postMessage({ studio: type, ...data }, "*");
  const short = (text) => String(text).slice(0, 300);
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection"]) delete window[name];
  // Save the built-ins used on nested frames before the page runs, because the page may replace them.
  const { apply } = Reflect;
  const uncurry =
    (call) =>
    (it, ...args) =>
      apply(call, it, args);
  const uncurryGetter = (type, name) => uncurry(Object.getOwnPropertyDescriptor(type.prototype, name).get);
  const { attachShadow, getAttribute, hasAttribute, setAttribute, remove } = Element.prototype;
  const [has, get, set, drop] = [hasAttribute, getAttribute, setAttribute, remove].map(uncurry);
  const [name, shadow] = ["localName", "shadowRoot"].map((each) => uncurryGetter(Element, each));
  const [kind, parentOf] = ["nodeType", "parentNode"].map((each) => uncurryGetter(Node, each));
  const [type, target, added] = ["type", "target", "addedNodes"].map((each) => uncurryGetter(MutationRecord, each));
  const count = uncurryGetter(NodeList, "length");
  const [walker, next] = [Document.prototype.createTreeWalker, TreeWalker.prototype.nextNode].map(uncurry);
  const Observer = MutationObserver;
  const observe = uncurry(Observer.prototype.observe);
  const Nodes = Set;
  const [addTo, includes, visit] = [Nodes.prototype.add, Nodes.prototype.has, Nodes.prototype.forEach].map(uncurry);
  const watched = new WeakSet();
  const [addWeak, hasWeak] = [WeakSet.prototype.add, WeakSet.prototype.has].map(uncurry);
  const changes = { __proto__: null, childList: true, subtree: true, attributes: true };
  // Connection-Allowlist blocks WebRTC; Chromium 156 kills the page's process if a srcdoc frame uses it.
  const sandboxSrcdoc = (element) => {
    if (name(element) !== "iframe" || !has(element, "srcdoc") || get(element, "sandbox") === "") return;
    try {
      set(element, "sandbox", "");
      set(element, "srcdoc", get(element, "srcdoc"));
    } catch {
      drop(element); // the page enforces trusted types
    }
  };
  const inspect = (element, found) => {
    sandboxSrcdoc(element);
    const root = shadow(element);
    if (!root || hasWeak(watched, root)) return;
    observeRoot(root);
    addTo(found, root);
  };
  const inspectTree = (node, found) => {
    if (kind(node) === 1) inspect(node, found);
    const walk = walker(document, node, 1);
    for (let each = next(walk); each; each = next(walk)) inspect(each, found);
  };
  const onMutations = (records) => {
    const found = new Nodes();
    for (let at = 0; at < records.length; at++) {
      if (type(records[at]) === "attributes") sandboxSrcdoc(target(records[at]));
      const nodes = added(records[at]);
      for (let index = 0; index < count(nodes); index++) addTo(found, nodes[index]);
    }
    // Descendants are visited with their ancestors; roots added during the loop are visited in turn.
    visit(found, (node) => includes(found, parentOf(node)) || inspectTree(node, found));
  };
  const observeRoot = (root) => {
    addWeak(watched, root);
    observe(new Observer(onMutations), root, changes);
  };
  observeRoot(document);
  Element.prototype.attachShadow = function (...args) {
    const root = apply(attachShadow, this, args);
    observeRoot(root);
    return root;
  };
  Object.assign(window, { alert() {}, confirm: () => false, prompt: () => null, print() {} });
  let violations = 0;
  let loads = 0;
  let scrollTarget = null;
  addEventListener("securitypolicyviolation", (event) => {
    if (violations++ < 200) post("blocked", { address: short(event.blockedURI), as: event.effectiveDirective });
  });
  new PerformanceObserver((list) => {
    const paths = list
      .getEntries()
      .map((entry) => entry.name)
      .filter((name) => name.startsWith(prefix));
    if (paths.length && (loads += paths.length) < 200) post("loaded", { paths: paths.map((name) => short(name.slice(prefix.length))) });
  }).observe({ type: "resource", buffered: true });
  addEventListener(
    "click",
    (event) => {
      const path = /** @type {HTMLAnchorElement[]} */ (event.composedPath());
      const link = path.find((each) => each.localName === "a" && each.href);
      if (!link || !/^https?:/.test(link.href) || link.href.startsWith(prefix)) {
        if (link?.target && link.target !== "_self") link.target = "_self";
        return;
      }
      event.preventDefault();
      if (event.isTrusted) post("link", { address: short(link.href) });
    },
    true,
  );
  let pending = 0;
  addEventListener(
    "scroll",
    () => {
      if (!pending)
        pending = requestAnimationFrame(() => {
          pending = 0;
          post("scroll", { x: scrollX, y: scrollY });
        });
    },
    { passive: true },
  );
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) post("escape");
  });
  const restoreScroll = () => scrollTarget && scrollTo(scrollTarget.x, scrollTarget.y);
  addEventListener("message", (event) => {
    if (event.source !== parent || event.data?.studio !== "scroll") return;
    event.stopImmediatePropagation();
    scrollTarget = { x: Number(event.data.x) || 0, y: Number(event.data.y) || 0 };
    restoreScroll();
    setTimeout(() => (scrollTarget = null), 1500);
  });
  for (const name of ["wheel", "pointerdown", "keydown"]) addEventListener(name, () => (scrollTarget = null), { passive: true });
  addEventListener("load", () => {
    restoreScroll();
    new ResizeObserver(restoreScroll).observe(document.documentElement);
  });
  document.currentScript?.remove();
  post("navigated", { path: short(location.pathname) });
})();
