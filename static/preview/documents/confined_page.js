// Checks whether the browser keeps a framed page offline; asks the user if it does not.

import { h } from "../../core/dom.js";
import { apiUrl } from "../../core/event_stream.js";
import { messageView, quietButton } from "../parts.js";

const TIMEOUT_MS = 10_000;
let result;

/** Whether a framed page can reach no other host; tested once per browser. */
export function isConfined() {
  result ??= probe().then((found) => {
    if (found === null) result = undefined;
    return Boolean(found);
  });
  return result;
}

function probe() {
  const frame = h("iframe", { hidden: true, sandbox: "allow-scripts", src: new URL("../frames/confinement", apiUrl("")).href });
  const { promise, resolve } = Promise.withResolvers();
  const onMessage = ({ source, data }) => source === frame.contentWindow && resolve(data?.confined === true);
  const timeout = setTimeout(() => resolve(null), TIMEOUT_MS);
  addEventListener("message", onMessage);
  document.body.append(frame);
  return promise.finally(() => {
    clearTimeout(timeout);
    removeEventListener("message", onMessage);
    frame.remove();
  });
}

/** Explain the limits of this browser and let the user choose: `onChoose("off" | "unconfined")`. */
export const confinementPrompt = (onChoose) =>
  messageView(
    "This browser cannot keep a page offline. With scripts, the page could send the files in its folder to any host. Without scripts, it can still contact the hosts that it names. Current versions of Chrome and Edge keep pages offline.",
    quietButton("Show without scripts", () => onChoose("off")),
    quietButton("Run scripts", () => onChoose("unconfined")),
  );
