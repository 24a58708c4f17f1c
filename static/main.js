// What Gradio's components mount; see sandbox_ui/component.py.

export { mountAttachments, mountNotice } from "./composer.js";
export { mountMasthead } from "./masthead.js";
export { mountTimeline } from "./timeline.js";
export { mountWorkspace } from "./workspace.js";
