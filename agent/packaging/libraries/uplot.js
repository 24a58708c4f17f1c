// Draws the charts of tokens: bars, lines and a cursor on a canvas, fluent with thousands of steps.
import "uplot/dist/uPlot.min.css";
export { default as uPlot } from "uplot";
