// Loads the page once more if one of its imports or styles fails: browsers abort requests when the machine's
// networks change, as when a container starts. Before, each of its files is requested until it is in the browser's
// cache, so that the page loads from there. Inlined into the page.
(() => {
  const KEY = "studio-reloads"; // how often since when, in milliseconds
  const RECENT_MS = 60_000;
  const MAX_RELOADS = 5; // of the last minute: each has more of the files
  const MAX_TRIES = 100; // for each file
  const PAUSE_MS = 300;
  let recovering = false;
  performance.setResourceTimingBufferSize(2000);

  const isMounted = () => "mounted" in document.documentElement.dataset;

  async function recover() {
    if (recovering || isMounted()) return;
    recovering = true;
    const [count, since] = (sessionStorage.getItem(KEY) ?? "0 0").split(" ").map(Number);
    const isRecent = Date.now() - since < RECENT_MS;
    if (isRecent && count >= MAX_RELOADS) return show("Part of the page could not be loaded. Reload it.");
    show("Loading was interrupted. Trying again…");
    const loaded = new Set();
    for (let next = files(); next.size; next = files().difference(loaded)) {
      for (const each of next) loaded.add(each);
      await Promise.all([...next].map((each) => load(each)));
    }
    if (isMounted()) return;
    sessionStorage.setItem(KEY, isRecent ? `${count + 1} ${since}` : `1 ${Date.now()}`);
    location.reload();
  }

  /** The addresses of scripts and styles that the page has asked for so far. */
  function files() {
    const elements = [...document.querySelectorAll("script[src], link[rel=stylesheet]:not([disabled]), link[rel=modulepreload]")];
    const requests = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByType("resource"));
    const named = elements.map((each) => new URL(each.getAttribute("src") ?? each.getAttribute("href"), document.baseURI).href);
    const requested = requests.filter(({ initiatorType: type }) => !/^(fetch|xmlhttprequest|other|img)$/.test(type)).map(({ name }) => name);
    return new Set([...named, ...requested].filter((each) => each.startsWith(`${location.origin}/`)));
  }

  /** Have a file in the browser's cache; an error status is the next load's to see. */
  async function load(address, tries = 0) {
    const response = await fetch(address, { cache: "force-cache" })
      .then((answer) => answer.arrayBuffer())
      .catch(() => null);
    if (response || tries === MAX_TRIES) return;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    return load(address, tries + 1);
  }

  function show(text) {
    const line = document.createElement("p");
    line.textContent = text;
    line.className = "loading";
    line.setAttribute("role", "status");
    line.style.cssText =
      "position: fixed; inset: 0; margin: auto; width: max-content; height: max-content; padding: 1em; background: Canvas; color: CanvasText";
    (document.body ?? document.documentElement).append(line);
  }

  // modulepreload errors are ignored: an import loads the module anyway, and Firefox reports errors for preloads that succeed.
  const isNeeded = (element) => element instanceof Element && element.matches("script[type=module], link[rel=stylesheet]");
  addEventListener("vite:preloadError", recover); // of an import, also our own
  addEventListener("error", ({ target }) => isNeeded(target) && recover(), true);
})();
