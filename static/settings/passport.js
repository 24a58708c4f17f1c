// The result of Test: a sentence, and the passport of the model as a table.

import { h } from "../core/dom.js";
import { formatAge, plural } from "../core/format.js";

const TONES = { true: "good", false: "bad" };

/**
 * The passport of a model as an element: what is known of it and how it was found out. What is not known is
 * left out after a failure, and at the end otherwise.
 * @param {{ model: string, tested: number, problem: string, tokens: number, changed?: number, facts: { label: string, text: string, source: string, known: boolean }[] }} passport
 */
export function passportTable({ model, tested, problem, tokens, changed = 0, facts }) {
  const known = facts.filter((fact) => fact.known);
  const shown = problem ? known : [...known, ...facts.filter((fact) => !fact.known)];
  const about = [tested ? `tested ${formatAge(Date.now() / 1000 - tested)}` : "", tokens ? plural(tokens, "token") : ""].filter(Boolean).join(" · ");
  return h(
    "div",
    { class: "passport" },
    model ? h("p", { class: "passport-head" }, h("b", { dir: "auto" }, model), " ", h("small", {}, about)) : null,
    changed ? h("p", { class: "unequal" }, "The server has said something else of this model since its test: test it again.") : null,
    h(
      "dl",
      {},
      ...shown.map((fact) => h("div", { class: fact.known ? "" : "unknown" }, h("dt", {}, fact.label), h("dd", { dir: "auto" }, fact.text, sourceOf(fact)))),
    ),
  );
}

const sourceOf = ({ source }) => (source ? h("small", {}, source) : null);

/** Show the result of Test in its place; `props.value` has it, or says that the test is running. */
export function mountTestResult(element, props, watch) {
  const place = element.querySelector(".test-result");
  const show = () => {
    const { loading = false, message = "", ok = true, passport = null } = props.value ?? {};
    place.hidden = !loading && !message;
    place.setAttribute("aria-busy", String(loading));
    const text = loading ? "Testing the endpoint with two short answers…" : message;
    place.replaceChildren(
      h("p", { class: loading ? "" : TONES[String(ok)] }, text),
      ...(passport?.facts.some(({ known }) => known) ? [passportTable(passport)] : []),
    );
  };
  watch("value", show);
  show();
}
