// Reloads the page, a few times at most, if one of its many files fails to load: browsers abort
// requests when the machine's networks change, as when a container starts. Inlined into the page.
(() => {
  const key = "studio-reloads";
  let reloading = false;
  const reload = () => {
    if (reloading || "mounted" in document.documentElement.dataset) return;
    const [count, since] = (sessionStorage.getItem(key) ?? "0 0").split(" ").map(Number);
    const recent = Date.now() - since < 30_000;
    if (recent && count >= 5) return;
    reloading = true;
    sessionStorage.setItem(key, `${recent ? count + 1 : 1} ${recent ? since : Date.now()}`);
    setTimeout(() => location.reload(), 300);
  };
  addEventListener("vite:preloadError", reload);
  addEventListener("unhandledrejection", reload);
  addEventListener(
    "error",
    (event) => {
      if (/^(SCRIPT|LINK)$/.test(/** @type {Element} */ (event.target)?.tagName)) reload();
    },
    true,
  );
})();
