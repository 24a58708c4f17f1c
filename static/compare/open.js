// Open a comparison in place of the run.

import { registerView, showView, viewUrl } from "../core/view.js";

registerView("comparison", {
  parameter: "compare",
  label: "Comparison",
  styles: ["compare/compare.css"],
  load: async () => {
    const { ComparisonPage } = await import("./page.js");
    return (id, place, options) => new ComparisonPage(id, place, options);
  },
});

/** The URL of a comparison. */
export const comparisonUrl = (id) => viewUrl("comparison", id);

/** Show a comparison in place of the run; with `visit` the browser's Back returns to it. */
export const showComparison = (id, options = {}) => showView("comparison", id, options);
