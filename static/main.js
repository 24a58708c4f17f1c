// Mount functions of the Gradio components; see sandbox_ui/page/components.py.

import * as composer from "./composer/composer.js";
import * as header from "./header/header.js";
import * as preferences from "./core/preferences.js";
import { filledEndpoint, mountEndpoints as showEndpoints } from "./settings/endpoints.js";
import { mountTestResult as showTestResult } from "./settings/passport.js";
import { createWelcome } from "./composer/welcome.js";
import * as timeline from "./timeline/timeline.js";
import * as workspace from "./workspace/workspace.js";

const mounting = new Set();

/** Show the page once all components are mounted, so that no input is lost. */
function tracked(name, mount) {
  mounting.add(name);
  return async (...args) => {
    const result = await mount(...args);
    if (mounting.delete(name) && !mounting.size) {
      document.documentElement.dataset.mounted = "";
      dispatchEvent(new Event("mounted"));
    }
    return result;
  };
}

export const mountHeader = tracked("header", header.mountHeader);
export const mountTimeline = tracked("timeline", (...component) => timeline.mountTimeline(createWelcome, ...component));
export const mountNotice = tracked("notice", composer.mountNotice);
export const mountComposer = tracked("composer", composer.mountComposer);
export const mountWorkspace = tracked("workspace", workspace.mountWorkspace);
export const restoreSettings = tracked("settings", preferences.restoreSettings);
export const mountEndpoints = tracked("endpoints", showEndpoints);
export const mountTestResult = tracked("test result", showTestResult);
export const { saveSettings, resetSettings } = preferences;
export { filledEndpoint };
