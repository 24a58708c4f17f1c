// The right half while no task is typed: what the example under the pointer or the focus makes.

import { h, waitForElement } from "../core/dom.js";
import { on, currentRun } from "../core/event_stream.js";
import { fetchRecordings, movingPicture, recordingName } from "./gallery.js";
import { Versus } from "./versus.js";

let showcase = null;
let drawn = ""; // the title of the example that is shown
let wanted = null; // the example last asked for

/** Show what an example makes; nothing if it was never recorded. */
export async function showExample(example) {
  wanted = example;
  const recording = (await fetchRecordings())[recordingName(example)];
  if (wanted !== example || !recording) return;
  showcase ??= await createShowcase();
  if (wanted === example) draw(example, recording);
}

async function createShowcase() {
  const files = await waitForElement("#workspace .files");
  const element = h("figure", { class: "showcase", "aria-hidden": "true" });
  files.append(element);
  const task = await waitForElement("#task textarea");
  const update = () => (element.hidden = Boolean(currentRun.id) || Boolean(task.value.trim()));
  task.addEventListener("input", update);
  on("reset", update);
  update();
  return element;
}

function draw(example, recording) {
  if (drawn === example.title) return;
  drawn = example.title;
  const compared = recording.plain ? new Versus(example, recording) : null;
  showcase.replaceChildren(
    recording.picture ? movingPicture(recordingName(example)) : "",
    compared ? compared.element : "",
    h(
      "figcaption",
      {},
      h("b", {}, example.title),
      h("span", {}, compared ? example.task : example.description),
      recording.answer ? h("q", { dir: "auto" }, recording.answer) : "",
      h("small", {}, origin(example)),
    ),
  );
  compared?.play();
}

function origin(example) {
  if (example.demonstration) return "Recorded from its demonstration: a scripted model, a real computer.";
  return example.expected ? "Recorded: the built-in model, once in each mode." : "Recorded: the built-in model in its sandbox.";
}
