// The chart of one run's tokens: a stacked bar for each step, lines for the sum and the limits.

import { formatCount } from "../core/format.js";
import { loadLibrary } from "../core/loading/libraries.js";
import { h, loadStyles } from "../core/dom.js";
import { countText, NOT_REPORTED, PARTS } from "./token_data.js";

const HEIGHT = 190; // px
const NARROW = 300; // px; below it the axis of the sum is left out
const MAX_BAR = 46; // px
const MIN_STEPS = 8; // a run of few steps does not fill the width
const AXIS_FONT = '11px ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
const COLOURS = {
  cached: "--line-strong",
  fresh: "--compute",
  environment: "--file",
  generated: "--accent",
  sum: "--external",
  limit: "--bad",
  pasted: "--ink",
};
/** In forced colours, parts differ by lines, too: paths in a tile of 6 × 6 pixels; contrast.css draws those of the legend. */
const LINES = { fresh: "M-1 1 1-1M0 6 6 0M5 7 7 5", environment: "M3 0V6", generated: "M0 3H6" };

export class TokenPlot {
  /** `onStep(step)` is called for a click on a step; null if steps cannot be opened. */
  constructor(data, label, onStep) {
    this.data = data;
    this.label = label;
    this.onStep = onStep;
    this.marks = [];
    this.plot = null;
    this.shown = null;
    this.tip = h("div", { class: "tip num", hidden: true });
    this.said = h("span", { class: "visually-hidden", role: "status" });
    const hint = onStep ? "Arrow keys move between steps, Enter opens one." : "Arrow keys move between steps.";
    this.element = h("div", { class: "plot", tabindex: "0", role: "group", "aria-label": `Tokens by step, ${label}. ${hint}` }, this.tip, this.said);
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("blur", () => this.show(null));
    this.resize = new ResizeObserver(() => this.fit());
    this.theme = new MutationObserver(() => this.repaint());
    this.forced = matchMedia("(forced-colors: active)");
    this.onForced = () => this.repaint();
  }

  /** Draw; the tops of the two axes are shared by the charts beside it. */
  async draw({ highest, highestSum }, marks) {
    this.highest = highest;
    this.highestSum = highestSum;
    this.marks = marks;
    if (this.plot) return this.setData();
    const [{ uPlot }] = await Promise.all([loadLibrary("uplot"), loadStyles("vendor/uplot.css")]);
    if (this.plot || this.destroyed) return undefined;
    this.readColours();
    this.plot = new uPlot(this.options(uPlot), this.plotData(), this.element);
    // The step under the click: the chart's cursor is where the pointer last moved.
    this.plot.over.addEventListener("click", ({ offsetX }) => this.open(this.plot.posToIdx(offsetX)));
    this.resize.observe(this.element);
    this.theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    this.forced.addEventListener("change", this.onForced);
    return this.fit();
  }

  destroy() {
    this.destroyed = true;
    this.resize.disconnect();
    this.theme.disconnect();
    this.forced.removeEventListener("change", this.onForced);
    this.plot?.destroy();
  }

  setData() {
    this.plot.setData(this.plotData());
  }

  /** Bars are drawn from the highest to the lowest, each over the one before. */
  plotData() {
    const [steps, stacked, sums] = this.data.columns();
    return [steps, ...stacked.reverse(), sums];
  }

  options(uPlot) {
    const bars = uPlot.paths.bars({ size: [0.78, MAX_BAR] });
    const bar = ({ key }) => ({ paths: bars, fill: () => this.colours[key], width: 0, points: { show: false } });
    const axis = { stroke: () => this.colours.text, font: AXIS_FONT, grid: { stroke: () => this.colours.line, width: 1 }, ticks: { show: false } };
    return {
      width: this.element.clientWidth || 600,
      height: HEIGHT,
      padding: [16, 8, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { time: false, range: () => [0.5, Math.max(MIN_STEPS, this.data.steps.at(-1)?.step ?? 0) + 0.5] },
        y: { range: () => [0, Math.max(1, this.highest) * 1.04] },
        sum: { range: () => [0, Math.max(1, this.highestSum) * 1.04] },
      },
      series: [{}, ...[...PARTS].reverse().map(bar), { scale: "sum", stroke: () => this.colours.sum, width: 1.5, points: { show: false }, spanGaps: true }],
      axes: [
        { ...axis, size: 24, gap: 2, grid: { show: false }, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] },
        { ...axis, size: 46, values: (_, ticks) => ticks.map(formatCount) },
        {
          ...axis,
          scale: "sum",
          side: 1,
          size: () => (this.narrow ? 4 : 50),
          stroke: () => this.colours.sum,
          grid: { show: false },
          values: (_, ticks) => ticks.map((tick) => (this.narrow ? "" : formatCount(tick))),
        },
      ],
      hooks: { draw: [(plot) => this.drawMarks(plot)], setCursor: [(plot) => this.element.matches(":hover") && this.show(plot.cursor.idx ?? null)] },
    };
  }

  /** Draw the limit and what pasting would take as lines with their names. */
  drawMarks(plot) {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.font = `${11 * ratio}px ${AXIS_FONT.slice(5)}`;
    for (const { kind, value, text } of this.marks) {
      if (value > this.highest) continue;
      const y = plot.valToPos(value, "y", true);
      ctx.strokeStyle = ctx.fillStyle = this.colours[kind];
      ctx.lineWidth = ratio * 1.2;
      ctx.setLineDash(kind === "pasted" ? [6 * ratio, 4 * ratio] : []);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.textBaseline = "bottom";
      const right = kind === "pasted"; // the two names do not meet where both lines are close
      ctx.textAlign = right ? "right" : "left";
      ctx.fillText(text, right ? bbox.left + bbox.width - 4 * ratio : bbox.left + 4 * ratio, y - 2 * ratio, bbox.width - 8 * ratio);
    }
    ctx.restore();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.colours = { text: colour("--ink-3"), line: colour("--line") };
    for (const [key, name] of Object.entries(COLOURS)) this.colours[key] = colour(name);
    if (!this.forced.matches) return;
    for (const [key, lines] of Object.entries(LINES)) this.colours[key] = lined(this.colours[key], lines, colour("--surface"));
  }

  repaint() {
    this.readColours();
    this.plot?.redraw();
  }

  fit() {
    const width = this.element.clientWidth;
    if (!width || !this.plot) return;
    this.narrow = width < NARROW;
    if (width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
  }

  open(index) {
    const step = this.data.steps[index];
    if (step) this.onStep?.(step.step);
  }

  key(event) {
    const last = this.data.steps.length - 1;
    const now = this.shown ?? -1;
    const to = { ArrowRight: Math.min(last, now + 1), ArrowLeft: Math.max(0, now - 1), Home: 0, End: last }[event.key];
    if (to !== undefined && last >= 0) {
      this.show(to);
      this.said.textContent = describe(this.data.steps[to]).join(", ");
    } else if (event.key === "Enter" && this.shown !== null) this.open(this.shown);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Show the numbers of a step beside its bar. */
  show(index) {
    const step = index === null ? null : this.data.steps[index];
    this.shown = step ? index : null;
    this.tip.hidden = !step;
    this.plot?.over.classList.toggle("opens", Boolean(step && this.onStep));
    if (!step || !this.plot) return;
    const [title, ...lines] = describe(step);
    this.tip.replaceChildren(h("b", { dir: "auto" }, title), ...lines.map((line) => h("span", {}, line)));
    const { plot } = this;
    const x = plot.over.offsetLeft + plot.valToPos(step.step, "x");
    if (!this.element.matches(":hover")) plot.setCursor({ left: plot.valToPos(step.step, "x"), top: 10 }, false);
    const right = x > this.element.clientWidth / 2;
    this.tip.style.left = right ? "" : `${x + 14}px`;
    this.tip.style.right = right ? `${this.element.clientWidth - x + 14}px` : "";
  }
}

/** A pattern of lines on a colour. */
function lined(colour, lines, stroke) {
  const tile = h("canvas", { width: 6 * devicePixelRatio, height: 6 * devicePixelRatio });
  const context = tile.getContext("2d");
  context.scale(devicePixelRatio, devicePixelRatio);
  context.fillStyle = colour;
  context.fillRect(0, 0, 6, 6);
  context.strokeStyle = stroke;
  context.lineWidth = 1.5;
  context.stroke(new Path2D(lines));
  return context.createPattern(tile, "repeat");
}

/** The numbers of a step as lines; the first names it. */
function describe(step) {
  const { estimated, summary } = step;
  const title = `Step ${step.step}${summary ? ` · ${summary}` : ""}`;
  if (step.prompt === null) return [title, `Tokens ${NOT_REPORTED}`];
  const count = (value) => countText(value, { estimated, exact: true });
  return [
    title,
    `Prompt ${count(step.prompt)}`,
    `from the cache ${count(step.cached)}`,
    `from the environment ${count(step.environment)}`,
    `Generated ${count(step.generated)}`,
    ...(step.reasoning === null ? [] : [`of it reasoning ${count(step.reasoning)}`]),
    ...(estimated ? ["Estimated: the endpoint reported no usage"] : []),
  ];
}
