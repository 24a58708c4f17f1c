// What Gradio's components mount; see sandbox_ui/component.py.

import * as composer from "./composer.js";
import * as masthead from "./masthead.js";
import * as memory from "./memory.js";
import * as timeline from "./timeline.js";
import * as workspace from "./workspace.js";

const waiting = new Set();

/** The page is shown when all of it answers: nothing that is typed or pressed gets lost. */
function counted(name, mount) {
  waiting.add(name);
  return async (...given) => {
    const result = await mount(...given);
    if (waiting.delete(name) && !waiting.size) {
      document.documentElement.dataset.mounted = "";
      dispatchEvent(new Event("mounted"));
    }
    return result;
  };
}

export const mountMasthead = counted("masthead", masthead.mountMasthead);
export const mountTimeline = counted("timeline", timeline.mountTimeline);
export const mountNotice = counted("notice", composer.mountNotice);
export const mountTools = counted("tools", composer.mountTools);
export const mountWorkspace = counted("workspace", workspace.mountWorkspace);
export const recall = counted("settings", memory.recall);
export const { bind, remember, forget } = memory;
