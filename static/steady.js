// Gradio loads its parts one by one; where a connection breaks off meanwhile (the machine's
// networks change when a container starts) the page is loaded anew, a few times at most.
addEventListener("vite:preloadError", () => {
  const key = "studio-reloads";
  const [count, since] = (sessionStorage.getItem(key) ?? "0 0").split(" ").map(Number);
  const recent = Date.now() - since < 30_000;
  if (recent && count >= 3) return;
  sessionStorage.setItem(key, `${recent ? count + 1 : 1} ${recent ? since : Date.now()}`);
  setTimeout(() => location.reload(), 300);
});
