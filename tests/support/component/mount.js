// Mounts components of the page and connects its fields and buttons, as Gradio does:
// sandbox_ui/page/components.py and build.py.

const NAMES = { header: "Header", timeline: "Timeline", notice: "Notice", attachments: "Composer", workspace: "Workspace" };
const values = {}; // of the mounted components
const watchers = {};

/** Return the exports of one of the page's modules. */
window.importModule = (path) => import(new URL(document.querySelector("meta[name=studio-modules]").content + path, document.baseURI).href);

/** Mount the components with these ids; the page then begins as usual. With `run`, wait until its state is shown. */
window.mountComponents = async (ids, run, settings) => {
  const [main, { currentRun }] = await Promise.all([window.importModule("main.js"), window.importModule("core/event_stream.js")]);
  for (const id of Object.keys(NAMES)) document.getElementById(id).style.visibility = ids.includes(id) ? "" : "hidden";
  await connectSettings(main, settings);
  connectButtons();
  await Promise.all(ids.map((id) => mountOne(main, id)));
  const shown = new Promise((resolve) => currentRun.on("update", resolve));
  document.documentElement.dataset.mounted = "";
  dispatchEvent(new Event("mounted"));
  if (run) await shown;
};

function mountOne(main, id) {
  watchers[id] = [];
  const props = {
    get value() {
      return values[id] ?? null;
    },
    set value(next) {
      values[id] = next;
    },
  };
  return main[`mount${NAMES[id]}`](document.querySelector(`#${id} .html-container > div`), props, (_name, changed) => watchers[id].push(changed));
}

function setComponentValue(id, next) {
  values[id] = next;
  for (const each of watchers[id] ?? []) each();
}

/** Run and Stop call their handlers: the test, or the stage, answers `page_run` and `page_stop`. */
function connectButtons() {
  const task = document.querySelector("#task textarea");
  const call = (name, body) => fetch(new URL(`api/${name}`, document.baseURI), { method: "POST", body: JSON.stringify(body) });
  document.getElementById("run").addEventListener("click", async () => {
    const answer = await call("page_run", { text: task.value, run: values.timeline ?? null, message: values.attachments ?? null });
    const [run, notice, text] = await answer.json();
    setComponentValue("timeline", run);
    setComponentValue("notice", notice);
    if (text !== null) task.value = text;
    values.attachments = null;
  });
  document.getElementById("stop").addEventListener("click", () => call("page_stop", { run: values.timeline ?? null }));
}

/** The settings' fields have the operator's values, or those that this browser stores; changes are stored. */
async function connectSettings(main, settings) {
  const inputs = [...document.querySelectorAll("[data-setting]")];
  const fields = inputs.map((each) => JSON.parse(each.dataset.setting));
  const property = (each) => (each.type === "checkbox" ? "checked" : "value");
  const read = (each, at) => ("minimum" in fields[at] ? (each.value === "" ? null : Number(each.value)) : each[property(each)]);
  const fill = (next) => inputs.forEach((each, at) => (each[property(each)] = next[at] ?? ""));
  const store = () => main.saveSettings(fields, inputs.map(read));
  const defaults = fields.map(({ name, value }) => settings[name] ?? value);
  fill(await main.restoreSettings(fields, defaults));
  for (const each of inputs) each.addEventListener("input", store);
  document.getElementById("reset-settings").addEventListener("click", () => {
    const reset = main.resetSettings(fields);
    fill(reset);
    document.querySelector("#key input").value = reset.at(-1);
    store();
  });
}
