// Opens the list of a file's versions; its code is loaded when it is first needed.

import { emit } from "../../core/event_stream.js";

export async function openVersions(path) {
  try {
    const { openVersionList } = await import("./list.js");
    await openVersionList(path);
  } catch (error) {
    emit("notice", { text: error.message });
  }
}
