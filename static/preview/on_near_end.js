// Calls a function when the end of a scrolled element comes near.

/** Call `act` when `element` is within one screen of the viewport; return a function that stops it. */
export function onNearEnd(element, act) {
  let observer = null;
  const frame = requestAnimationFrame(() => {
    const root = element.closest(".canvas, .inset");
    observer = new IntersectionObserver((seen) => seen.some(({ isIntersecting }) => isIntersecting) && act(), { root, rootMargin: "100%" });
    observer.observe(element);
  });
  return () => {
    cancelAnimationFrame(frame);
    observer?.disconnect();
  };
}
