// Pause, Resume and Step beside Stop, and the rules for approval.

import { h, icon } from "../core/dom.js";
import { currentRun, on } from "../core/event_stream.js";
import { steer, setApproval } from "./requests.js";
import { nameOf, RULES } from "./rules.js";

/** Put the controls before the element `stop`. */
export function mountControls(stop) {
  const button = (name, label, title, onclick) =>
    h("button", { class: `steer owner-only ${name}`, title, hidden: true, onclick }, icon(name === "step" ? "next" : name), h("span", {}, label));
  const pause = button("pause", "Pause", "Wait before the next turn of the model; a command that runs ends first", () => steer(currentRun, "pause"));
  const resume = button("play", "Resume", "Let the model go on", () => steer(currentRun, "resume"));
  const step = button("step", "Step", "Take one step, then wait again", () => steer(currentRun, "step"));
  const menu = new ApprovalMenu();
  const bar = h("div", { class: "steering-bar", role: "group", "aria-label": "Steering", hidden: true }, menu.element, pause, resume, step);
  stop.before(bar);
  const update = () => {
    const { running, steering } = currentRun;
    const paused = Boolean(steering?.paused);
    const focused = [pause, resume].find((each) => each === document.activeElement);
    pause.hidden = !running || paused;
    resume.hidden = step.hidden = !running || !paused;
    step.disabled = currentRun.status?.state !== "paused";
    if (focused?.hidden) (paused ? resume : pause).focus();
    menu.update();
    bar.hidden = !running && menu.element.hidden;
  };
  for (const name of ["update", "reset", "steering", "permissions"]) on(name, update);
  update();
}

class ApprovalMenu {
  constructor() {
    this.label = h("span", {});
    this.boxes = Object.entries(RULES).map(([rule, { label }]) => [rule, h("input", { type: "checkbox", name: rule, onchange: () => this.save() }), label]);
    const rows = this.boxes.map(([, box, label]) => h("label", {}, box, label));
    this.element = h(
      "details",
      { class: "approval-menu owner-only", hidden: true },
      h("summary", { class: "steer", title: "Which calls wait until you allow, edit or deny them" }, this.label),
      h("fieldset", {}, h("legend", {}, "Ask me before these calls"), ...rows),
    );
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.element.open) return;
      event.stopPropagation(); // it would stop the run
      this.close();
      this.element.querySelector("summary").focus();
    });
    document.addEventListener("pointerdown", (event) => this.element.contains(/** @type {Node} */ (event.target)) || this.close());
    this.element.addEventListener(
      "focusout",
      ({ relatedTarget }) => relatedTarget && !this.element.contains(/** @type {Node} */ (relatedTarget)) && this.close(),
    );
  }

  close() {
    this.element.open = false;
  }

  save() {
    setApproval(
      currentRun,
      this.boxes.filter(([, box]) => box.checked).map(([rule]) => rule),
    );
  }

  update() {
    const { running, steering } = currentRun;
    const rules = steering?.approval ?? [];
    this.element.hidden = !running && !(currentRun.started && rules.length);
    if (this.element.hidden) this.close();
    this.label.textContent = `Approve: ${nameOf(rules)}`;
    const every = rules.includes("every");
    for (const [rule, box] of this.boxes) {
      box.checked = rules.includes(rule);
      box.disabled = every && rule !== "every";
    }
  }
}
