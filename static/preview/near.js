// Something to be done when the end of what is scrolled comes near.

/** Call `act` when `element` is within a screen of what is seen; returns how to stop it. */
export function whenNear(element, act) {
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
