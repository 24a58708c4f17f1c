// Recorded runs that ship with the studio: they play at once, without an engine and without a model.

import { h, icon } from "../core/dom.js";
import { apiUrl, emit, reported, showRun } from "../core/event_stream.js";
import { plural } from "../core/format.js";
import { fetchJson } from "../core/loading/fetch.js";

/** Offer the recorded runs in `place`, for the first screen; nothing if there are none. */
export async function showRecordings(place) {
  const recordings = await fetchJson(apiUrl("recordings")).catch(() => []);
  const buttons = recordings.map(({ name, title, about, steps }) =>
    h("button", { class: "chip", title: `${about} (${plural(steps, "step")})`, onclick: () => reported(playRecording(name)) }, icon("play"), h("b", {}, title)),
  );
  place.hidden = !buttons.length;
  place.replaceChildren(h("span", {}, "Recorded runs, which play at once: "), ...buttons);
}

/** Open a recorded run and play it. */
async function playRecording(name) {
  const { run } = await fetchJson(apiUrl(`recordings/${name}`), { method: "POST" });
  emit("play-run", run);
  showRun(run);
}
