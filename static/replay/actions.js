// What can be done with a run that has ended: replay it, compare a replay with it.

import { apiUrl, emit, reported, runApiUrl, showRun } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { compareRuns } from "../core/run/compare_runs.js";
import { showView } from "../core/view.js";

/** Start a replay of the run that the page shows, and show the replay. */
export const replayRun = () => reported(fetchJson(runApiUrl("replays"), { method: "POST" }).then(({ run }) => showRun(run)));

/** Save the run that the page shows as an example, which plays without a model. */
export const saveAsExample = () =>
  reported(
    fetchJson(runApiUrl("example"), { method: "POST" }).then(({ title }) => {
      emit("examples-changed");
      emit("notice", { text: `Saved as an example: “${title}”. It plays under Examples, without a model.` });
    }),
  );

/** Show the replay beside the recorded run. */
export const compareReplay = (recorded, replay) => reported(compareRuns([recorded, replay]).then((id) => showView("comparison", id)));

/** Return the latest replays of a run, latest first. */
export async function fetchReplays(run) {
  const { replays } = await fetchJson(apiUrl(`runs/${run}/replays`));
  return replays;
}
