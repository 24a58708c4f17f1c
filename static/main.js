// Mount functions of the Gradio components; see sandbox_ui/page/component.py.

import * as composer from "./composer/composer.js";
import * as masthead from "./header/header.js";
import * as memory from "./core/preferences.js";
import * as timeline from "./timeline/timeline.js";
import * as workspace from "./workspace/workspace.js";

const waiting = new Set();

/** Show the page once all components are mounted, so that no input is lost. */
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
export const { remember, forget } = memory;
