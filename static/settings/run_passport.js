// What was known of a run's model, and what did not reach it: chips in the run's head.

import { h } from "../core/dom.js";
import { openDialog } from "../core/widgets/dialog.js";
import { addOriginChip, originChip } from "../core/run/origin.js";
import { passportTable } from "./passport.js";

const SHOWN = ["api", "context"]; // facts that the chip itself shows

/** Show what was known of a model when a run began. */
function openPassport(model, passport) {
  openDialog(
    { name: "passport-dialog", title: "Known of the model", dismissible: true },
    h("p", { class: "dim" }, "What was known when the run began, and how it was found out. Test in the settings renews it."),
    passportTable({ model, problem: "", tokens: 0, ...passport }),
  );
}

addOriginChip(({ passport, status }) => {
  if (!passport) return null;
  const shown = passport.facts.filter(({ name, known }) => known && SHOWN.includes(name)).map(({ text }) => text);
  return originChip("model ", shown.join(" · ") || "tested", { title: "What is known of the model", onclick: () => openPassport(status.model, passport) });
}, 2);

addOriginChip(
  ({ leftOut }) => (leftOut?.length ? originChip("not sent: ", leftOut.join(", "), { title: "Settings that the model or its endpoint does not take" }) : null),
  3,
);

/** What a reader of a member's figures must know: marks of its runs, and its model's passport. */
export function* provenance({ model, marks = [], passport = null }) {
  if (marks.length) yield h("small", { class: "unequal" }, marks.join(" · "));
  if (passport) yield h("button", { class: "quiet passport-link", onclick: () => openPassport(model, passport) }, "About the model");
}
