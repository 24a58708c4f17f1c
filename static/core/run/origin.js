// Where a run comes from, what was made from it, and where its sandbox is: chips in the run's head.

import { h } from "../dom.js";

/** @type {{ order: number, create: (run: any) => Element | null | Promise<Element | null> }[]} */
const chips = [];

/** Add a chip; `create(run)`, called whenever the run's state arrives, returns its element, or null where a run has none. */
export function addOriginChip(create, order = 0) {
  chips.push({ order, create });
  chips.sort((a, b) => a.order - b.order);
}

/** Show the chips of `run` in `place`, which is hidden while there are none. */
export function mountOrigin(place, run) {
  let shown = 0;
  const show = async () => {
    const request = ++shown;
    const { id } = run;
    const elements = await Promise.all(run.started ? chips.map(({ create }) => create(run)) : []);
    if (request !== shown || id !== run.id) return;
    place.replaceChildren(...elements.filter((element) => element !== null));
    place.hidden = !place.childElementCount;
  };
  run.on("reset", () => {
    shown += 1;
    place.replaceChildren();
    place.hidden = true;
  });
  run.on("state", show);
  run.on("family", show);
  run.on("node", show);
}

/** A chip: a label, and what it is about in bold type, which `onclick` opens. */
export function originChip(label, name, { title = "", onclick = null } = {}) {
  const content = [label, name ? h("b", { dir: "auto" }, name) : null];
  if (!onclick) return h("span", { class: "chip", title: title || null }, ...content);
  return h("button", { class: "chip", title: title || null, onclick }, ...content);
}

addOriginChip((run) => (run.node ? originChip("sandbox on ", run.node, { title: "The cluster's node that the sandbox is on" }) : null), 1);
