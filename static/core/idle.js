// Stops the animation loop of Gradio's "Loading…" status tracker once the page is mounted; the
// loop otherwise runs as long as the page is open. Inlined into the page.
(() => {
  const native = window.requestAnimationFrame;
  const loading = () => !("mounted" in document.documentElement.dataset);
  window.requestAnimationFrame = (callback) => {
    if (!/\/statustracker-/.test(new Error().stack)) return native(callback);
    return native((now) => {
      if (loading()) callback(now);
      else window.requestAnimationFrame = native;
    });
  };
})();
