(() => {
  if (parent === window) return;
  const prefix = /^.*?\/frames\/[^/]+\//.exec(location.href)?.[0];
  if (!prefix) return;
  const tell = (what, more) => parent.postMessage({ studio: what, ...more }, "*");
  const short = (text) => String(text).slice(0, 300);
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection"]) delete window[name];
  const hush = (node) => {
    for (const frame of node.querySelectorAll?.("iframe[srcdoc]") ?? []) quiet(frame);
    if (node.localName === "iframe" && node.hasAttribute("srcdoc")) quiet(node);
  };
  const quiet = (frame) => {
    if (frame.getAttribute("sandbox") === "") return;
    frame.setAttribute("sandbox", "");
    frame.srcdoc = frame.getAttribute("srcdoc");
  };
  const watch = (root) => new MutationObserver((all) => all.forEach((each) => {
    if (each.type === "attributes") hush(each.target);
    else each.addedNodes.forEach(hush);
  })).observe(root, { childList: true, subtree: true, attributeFilter: ["srcdoc", "sandbox"] });
  watch(document);
  const { attachShadow } = Element.prototype;
  Element.prototype.attachShadow = function (...given) {
    const root = attachShadow.apply(this, given);
    watch(root);
    return root;
  };
  Object.assign(window, { alert() {}, confirm: () => false, prompt: () => null, print() {} });
  let asked = 0;
  let loads = 0;
  let goal = null;
  addEventListener("securitypolicyviolation", (event) => {
    if (asked++ < 200) tell("asked", { address: short(event.blockedURI), as: event.effectiveDirective });
  });
  new PerformanceObserver((list) => {
    const paths = list.getEntries().map((entry) => entry.name).filter((name) => name.startsWith(prefix));
    if (paths.length && (loads += paths.length) < 200) tell("loaded", { paths: paths.map((name) => short(name.slice(prefix.length))) });
  }).observe({ type: "resource", buffered: true });
  addEventListener("click", (event) => {
    const link = event.composedPath().find((each) => each.localName === "a" && each.href);
    if (!link || !/^https?:/.test(link.href) || link.href.startsWith(prefix)) {
      if (link?.target && link.target !== "_self") link.target = "_self";
      return;
    }
    event.preventDefault();
    if (event.isTrusted) tell("link", { address: short(link.href) });
  }, true);
  let pending = 0;
  addEventListener("scroll", () => {
    pending ||= requestAnimationFrame(() => {
      pending = 0;
      tell("scroll", { x: scrollX, y: scrollY });
    });
  }, { passive: true });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) tell("escape");
  });
  const go = () => goal && scrollTo(goal.x, goal.y);
  addEventListener("message", (event) => {
    if (event.source !== parent || event.data?.studio !== "scroll") return;
    event.stopImmediatePropagation();
    goal = { x: Number(event.data.x) || 0, y: Number(event.data.y) || 0 };
    go();
    setTimeout(() => (goal = null), 1500);
  });
  for (const name of ["wheel", "pointerdown", "keydown"]) addEventListener(name, () => (goal = null), { passive: true });
  addEventListener("load", () => {
    go();
    new ResizeObserver(go).observe(document.documentElement);
  });
  document.currentScript?.remove();
  tell("hello", { path: short(location.pathname) });
})();
