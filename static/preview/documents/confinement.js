(async () => {
  const isReachable = (address) =>
    fetch(address).then(
      ({ ok }) => ok,
      () => false,
    );
  const canNavigate = () =>
    new Promise((resolve) => {
      const frame = document.createElement("iframe");
      addEventListener("message", () => resolve(true));
      // The message of the framed page may arrive after its load event.
      frame.onload = async () => resolve((await isReachable("confinement/inside")) ? false : null);
      frame.src = "confinement/outside";
      document.documentElement.append(frame);
    });
  const [inside, outside] = [await isReachable("confinement/inside"), await isReachable("confinement/outside")];
  const confined = inside && !outside && (await canNavigate()) === false;
  parent.postMessage({ confined }, "*");
})();
