// The dialog that adds members and tasks to an evaluation that does not work at the moment.

import { h, loadStyles } from "../../core/dom.js";
import { fetchJson } from "../../core/loading/fetch.js";
import { EvaluationDialog } from "./dialog.js";

/** Open the dialog for the experiment of a page; `keys` are fields for the keys of its known members. */
export async function openExtendDialog(page, keys) {
  await loadStyles("experiments/members/members.css");
  await new ExtendDialog(page, keys).load();
}

class ExtendDialog extends EvaluationDialog {
  constructor(page, keys) {
    super(0);
    this.page = page;
    this.keys = keys;
    keys.show({ ...page.experiment, canResume: true });
    this.startButton.textContent = "Add and start";
    this.runs.append(this.amount("Tasks of a suite, at most", "limit", { placeholder: "all" }));
    const has = page.experiment.members.map(({ label }) => label).join(" · ");
    this.open(
      "Add members or tasks",
      "What has ended stays, and only new runs are carried out. A suite that is there takes further tasks, with the settings that it has.",
      [h("p", { class: "known-members", dir: "auto" }, `There are: ${has}. Add others:`), keys.element],
    );
    this.editor.draw();
  }

  get checkUrl() {
    return this.page.url("extend/check");
  }

  get known() {
    return this.page.experiment.suites.map(({ name }) => name);
  }

  get needsJudge() {
    return super.needsJudge && !this.page.experiment.judge;
  }

  missing() {
    return this.chosen.length || this.editor.members.length ? super.missing() : "Add a member, or choose a suite with further tasks.";
  }

  async request() {
    const { members, judgeApiKey } = this.keys.request();
    return { ...(await super.request()), keys: members, judgeApiKey };
  }

  async send(request) {
    await fetchJson(this.page.url("extend"), { method: "POST", body: JSON.stringify(request) });
    this.onStarted();
    await this.page.load();
  }
}
