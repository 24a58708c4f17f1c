// Opens the list of a file's versions; its code is loaded when it is first needed.

import { reported } from "../../core/event_stream.js";

export const openVersions = (path) => reported(import("./list.js").then(({ openVersionList }) => openVersionList(path)));
