(async () => {
  const answers = (address) => fetch(address).then(({ ok }) => ok, () => false);
  const arrives = (address) => new Promise((resolve) => {
    const frame = document.createElement("iframe");
    addEventListener("message", () => resolve(true));
    // The message of the framed page may arrive after its load event.
    frame.onload = async () => resolve((await answers("confinement/inside")) ? false : null);
    frame.src = "confinement/outside";
    document.documentElement.append(frame);
  });
  const [inside, outside] = [await answers("confinement/inside"), await answers("confinement/outside")];
  const confined = inside && !outside && (await arrives("confinement/outside")) === false;
  parent.postMessage({ confined }, "*");
})();
