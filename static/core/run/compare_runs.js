// A comparison of runs that there are.

import { apiUrl } from "../event_stream.js";
import { fetchJson } from "../loading/fetch.js";
import { showView } from "../view.js";

/** Compare runs, and show the comparison; throws an Error that says what differs. */
export async function compareRuns(runs, { onCreated = () => {} } = {}) {
  const { id } = await fetchJson(apiUrl("comparisons/from-runs"), { method: "POST", body: JSON.stringify({ runs }) });
  onCreated();
  return showView("comparison", id);
}
