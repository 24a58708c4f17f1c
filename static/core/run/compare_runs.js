// A comparison of existing runs.

import { apiUrl } from "../event_stream.js";
import { fetchJson } from "../loading/fetch.js";

/** Create a comparison and return its id; throws an Error that says what differs. */
export async function compareRuns(runs) {
  const { id } = await fetchJson(apiUrl("comparisons/from-runs"), { method: "POST", body: JSON.stringify({ runs }) });
  return id;
}
