// Areas from the smallest to the largest value of bins, behind the lines of their means.

import type { Value } from "./api";
import type { Line } from "./chart";

export interface Band {
  x: number[];
  low: Value[];
  high: Value[];
}

const OPACITY = 0.22;

/** Draw the area of each line that has one and is shown. */
export function drawBands(plot: uPlot, lines: Line[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.globalAlpha = OPACITY;
  lines.forEach(({ band, stroke }, index) => {
    if (!band || !plot.series[index + 1]?.show) return;
    ctx.fillStyle = ctx.strokeStyle = stroke;
    for (const [from, to] of parts(band)) area(plot, band, from, to);
  });
  ctx.restore();
}

function area(plot: uPlot, { x, low, high }: Band, from: number, to: number): void {
  const { ctx } = plot;
  const go = (at: number, values: Value[]) =>
    ctx.lineTo(plot.valToPos(x[at] ?? 0, "x", true), plot.valToPos(values[at] ?? 0, "y", true));
  ctx.beginPath();
  for (let at = from; at < to; at++) go(at, high);
  for (let at = to - 1; at >= from; at--) go(at, low);
  ctx.closePath();
  ctx.fill();
  if (to - from === 1) ctx.stroke(); // a single bin has no area
}

/** Return the parts of a band without a gap, as [first, behind the last]. */
function parts({ x, low }: Band): [number, number][] {
  const found: [number, number][] = [];
  for (let at = 0; at < x.length; at++) {
    const last = found.at(-1);
    if (low[at] == null) continue;
    if (last && last[1] === at) last[1]++;
    else found.push([at, at + 1]);
  }
  return found;
}

/** Return the smallest and the largest value of the shown bands within a part of the time. */
export function extremes(plot: uPlot, lines: Line[], [from, to]: [number, number]): [number, number] {
  let [least, most] = [Infinity, -Infinity];
  lines.forEach(({ band }, index) => {
    if (!band || !plot.series[index + 1]?.show) return;
    band.x.forEach((time, at) => {
      if (time < from || time > to) return;
      least = Math.min(least, band.low[at] ?? least);
      most = Math.max(most, band.high[at] ?? most);
    });
  });
  return [least, most];
}

/** Return the smallest and the largest value in words, if the time is a bin's. */
export function write({ band, write }: Line, time: number | undefined): string {
  const at = band && time !== undefined ? band.x.indexOf(time) : -1;
  const [low, high] = [band?.low[at], band?.high[at]];
  return low == null || high == null ? "" : ` (${write(low)} to ${write(high)})`;
}
