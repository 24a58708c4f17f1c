// Open an evaluation in place of the run.

import { registerView, showView, viewUrl } from "../core/view.js";

registerView("evaluation", {
  parameter: "evaluation",
  label: "Evaluation",
  styles: ["compare/compare.css", "evaluations/evaluations.css"],
  load: async () => {
    const { EvaluationPage } = await import("./page.js");
    return (id, place, options) => new EvaluationPage(id, place, options);
  },
});

/** The URL of an evaluation. */
export const evaluationUrl = (id) => viewUrl("evaluation", id);

/** Show an evaluation in place of the run; with `visit` the browser's Back returns to it. */
export const showEvaluation = (id, options = {}) => showView("evaluation", id, options);
