// Mounts components of the page, as Gradio does: sandbox_ui/page/components.py.

const NAMES = { header: "Header", timeline: "Timeline", notice: "Notice", attachments: "Composer", workspace: "Workspace" };

/** Return the exports of one of the page's modules. */
window.importModule = (path) => import(new URL(document.querySelector("meta[name=studio-modules]").content + path, document.baseURI).href);

/** Mount the components with these ids; the page then begins as usual. With `run`, wait until its state is shown. */
window.mountComponents = async (ids, run) => {
  const [main, { currentRun }] = await Promise.all([window.importModule("main.js"), window.importModule("core/event_stream.js")]);
  for (const id of Object.keys(NAMES)) document.getElementById(id).style.visibility = ids.includes(id) ? "" : "hidden";
  await Promise.all(ids.map((id) => mountOne(main, id)));
  const shown = new Promise((resolve) => currentRun.on("update", resolve));
  document.documentElement.dataset.mounted = "";
  dispatchEvent(new Event("mounted"));
  if (run) await shown;
};

function mountOne(main, id) {
  const watchers = [];
  let value = null;
  const props = {
    get value() {
      return value;
    },
    set value(next) {
      value = next;
    },
  };
  window.setComponentValue ??= {};
  window.setComponentValue[id] = (next) => {
    value = next;
    for (const each of watchers) each();
  };
  return main[`mount${NAMES[id]}`](document.querySelector(`#${id} .html-container > div`), props, (_name, changed) => watchers.push(changed));
}
