// The picture of a line in a legend: its true colour, dashes and width.

import type { Line } from "./chart";

const SPACE = "http://www.w3.org/2000/svg";
const WIDTH = 26;
const HEIGHT = 10;

export function swatch({ stroke, dash, width, bare }: Pick<Line, "stroke" | "dash" | "width" | "bare">): SVGElement {
  const picture = document.createElementNS(SPACE, "svg");
  const path = document.createElementNS(SPACE, "path");
  // What is drawn as ticks has a tick.
  const shape = bare ? `M${WIDTH / 2} 0v${HEIGHT}` : `M1 ${HEIGHT / 2}h${WIDTH - 2}`;
  for (const [name, value] of Object.entries({
    d: shape, stroke, "stroke-width": String(width * 1.3), "stroke-dasharray": dash.join(" "), fill: "none",
  })) path.setAttribute(name, value);
  for (const [name, value] of Object.entries({
    width: String(WIDTH), height: String(HEIGHT), class: "swatch", "aria-hidden": "true",
  })) picture.setAttribute(name, value);
  picture.append(path);
  return picture;
}

/** Put the pictures of the lines into a chart's legend, whose first row is the time. */
export function mark(legend: Element, lines: Line[]): void {
  [...legend.querySelectorAll(".u-series")].slice(1).forEach((row, index) => {
    const line = lines[index];
    if (line) row.querySelector(".u-marker")?.replaceChildren(swatch(line));
  });
}
