// What can be done with a run that has ended: replay it, compare a replay with it.

import { showComparison } from "../compare/open.js";
import { apiUrl, currentRun, emit, showRun } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { compareRuns } from "../history/group_row.js";

/** Start a replay of the run that the page shows, and show the replay. */
export async function replayRun() {
  try {
    const { run } = await fetchJson(apiUrl(`runs/${currentRun.id}/replays`), { method: "POST" });
    showRun(run);
  } catch (error) {
    emit("notice", { text: error.message });
  }
}

/** Save the run that the page shows as an example, which plays without a model. */
export async function saveAsExample() {
  try {
    const { title } = await fetchJson(apiUrl(`runs/${currentRun.id}/example`), { method: "POST" });
    emit("examples-changed");
    emit("notice", { text: `Saved as an example: “${title}”. It plays under Examples, without a model.` });
  } catch (error) {
    emit("notice", { text: error.message });
  }
}

/** Show the replay beside the recorded run. */
export async function compareReplay(recorded, replay) {
  try {
    showComparison(await compareRuns([recorded, replay]));
  } catch (error) {
    emit("notice", { text: error.message });
  }
}

/** Return the latest replays of a run, latest first. */
export async function fetchReplays(run) {
  const { replays } = await fetchJson(apiUrl(`runs/${run}/replays`));
  return replays;
}
