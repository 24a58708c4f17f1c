// The views of a comparison and of an evaluation: their places in the URL.

import { registerView } from "../core/view.js";

const VIEWS = [
  ["comparison", "compare", "Comparison"],
  ["evaluation", "evaluation", "Evaluation"],
];

for (const [kind, parameter, label] of VIEWS)
  registerView(kind, {
    parameter,
    label,
    styles: ["experiments/experiments.css"],
    load: async () => {
      const { ExperimentPage } = await import("./page.js");
      return (id, place, { onGone }) => new ExperimentPage(kind, id, place, onGone);
    },
  });
