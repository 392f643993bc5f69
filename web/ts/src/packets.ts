// What the charts of a trace draw: segments and SACK, packets of flows in a queue, windows.

import type { AckStates, Bytes, Points, TimeSequence, TracedQueue, Value } from "./api";
import type { Line, Picture } from "./chart";
import { join, type Look, type Series } from "./series";
import { colour, digits, rate, whole } from "./style";

type Span = [number, number];

/** A picture of segments: what is drawn as vertical lines, in the order of drawing. */
interface SequencePicture extends Picture {
  spans: { of: Bytes; line: number }[];
}

interface QueuePicture extends Picture {
  queue: TracedQueue;
  fills: string[];
  strokeOf: (flow: string | null) => string;
}

const CROSS_PX = 3;
const AREA_ALPHA = 0.35;
const ROOM = 0.05;
const MOST_FLOWS = 8;

/** Format bytes. */
export const write = (value: number) => (value === 0 ? "0" : `${rate(value, "B")}`);

/** Return steps with a last one at the end of the part, so that they reach its edge. */
function held(time_s: number[], values: Value[], end: number): [number[], Value[]] {
  const last = time_s.at(-1);
  if (last === undefined || last >= end) return [time_s, values];
  return [[...time_s, end], [...values, values.at(-1) ?? null]];
}

function stepped(time_s: number[], values: Value[], line: Line, span: Span): Series {
  const [x, y] = held(time_s, values, span[1]);
  return { time_s: x, columns: [{ line: { ...line, stepped: true }, values: y }] };
}

export function sequencePicture(of: TimeSequence, span: Span): SequencePicture {
  const bare = (label: string, stroke: string, width: number): Line =>
    ({ label, stroke, dash: [], width, bare: true, write });
  const acked = { label: "acknowledged", stroke: colour("--c2"), dash: [], width: 1.3, write };
  const edge = { label: "receive window", stroke: colour("--c4"), dash: [], width: 1.3, write };
  const spans: [Bytes, Line][] = [
    [of.new, bare("sent", colour("--ink"), 1.2)],
    [of.sacks, bare("SACK", colour("--c7"), 1)],
    [of.again, bare("sent again", colour("--drop"), 1.8)],
  ];
  const shown = spans.filter(([{ time_s }]) => time_s.length);
  const picture = join([
    stepped(of.time_s, of.acked, acked, span),
    stepped(of.time_s, of.edge, edge, span),
    ...shown.map(([bytes, line]): Series => ({ time_s: bytes.time_s, columns: [{ line, values: bytes.end }] })),
  ], [
    `${of.new.found} segments, ${of.again.found} sent again`,
    of.has_segments ? "" : "the trace has no packets: only those that were sent again are shown",
    of.has_sacks || !of.has_segments ? "" : "the trace has no packets, so no SACK",
    of.connections > 1 ? `one of ${of.connections} connections` : "",
  ].filter(Boolean).join("; "));
  return { ...picture, spans: shown.map(([bytes], at) => ({ of: bytes, line: 2 + at })) };
}

/** Return ends of the axis by what is sent and acknowledged: the window may be far above. */
export function sequenceLimits(picture: Picture, [from, to]: Span): Span {
  const { spans, x, columns } = picture as SequencePicture;
  let [low, high] = [Infinity, -Infinity];
  const see = (time: number, first: number, end: number) => {
    if (time < from || time > to) return;
    low = Math.min(low, first);
    high = Math.max(high, end);
  };
  for (const { of } of spans) of.time_s.forEach((time, at) => see(time, of.first[at] ?? 0, of.end[at] ?? 0));
  columns[0]?.forEach((value, at) => value != null && see(x[at] ?? 0, value, value));
  if (low > high) return [0, 1];
  const room = (high - low) * ROOM || 1;
  return [low - room, high + room];
}

export function drawSequence(plot: uPlot, picture: Picture): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const { of, line } of (picture as SequencePicture).spans) {
    if (!plot.series[line + 1]?.show) continue;
    const look = picture.lines[line];
    ctx.strokeStyle = look?.stroke ?? "";
    ctx.lineWidth = (look?.width ?? 1) * devicePixelRatio;
    ctx.beginPath();
    of.time_s.forEach((time, at) => {
      const x = plot.valToPos(time, "x", true);
      const [first, end] = [plot.valToPos(of.first[at] ?? 0, "y", true), plot.valToPos(of.end[at] ?? 0, "y", true)];
      ctx.moveTo(x, first);
      ctx.lineTo(x, Math.min(end, first - devicePixelRatio)); // a small segment has a pixel, too
    });
    ctx.stroke();
  }
  ctx.restore();
}

export function queuePicture(of: TracedQueue, look: Look, span: Span): QueuePicture {
  const all: Line = { label: "all", stroke: colour("--ink"), dash: [], width: 1, write: whole };
  const lines = of.flows.map(({ name }): Line => ({ ...look(name), dash: [], label: name, bare: true, write: whole }));
  const picture = join([
    stepped(of.time_s, of.packets, all, span),
    ...of.flows.map(({ packets }, at) => stepped(of.time_s, packets, lines[at] as Line, span)),
  ], [
    of.channel, `${of.lost.found} packets dropped or lost`, of.marks.found ? `${of.marks.found} marked` : "",
  ].filter(Boolean).join(", "), Math.max(...of.packets, 1));
  const strokeOf = (flow: string | null) => (flow === null ? colour("--dim") : look(flow).stroke);
  return { ...picture, queue: of, fills: lines.map(({ stroke }) => stroke), strokeOf };
}

export function drawQueuePackets(plot: uPlot, picture: Picture): void {
  const { queue, fills, strokeOf } = picture as QueuePicture;
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top - CROSS_PX * devicePixelRatio, bbox.width, bbox.height + CROSS_PX * devicePixelRatio);
  ctx.clip();
  const right = bbox.left + bbox.width;
  const below = queue.time_s.map(() => 0);
  const area = (values: number[], fill: string) => {
    const above = below.map((value, at) => value + (values[at] ?? 0));
    ctx.globalAlpha = AREA_ALPHA;
    ctx.fillStyle = fill;
    ctx.beginPath();
    edge(plot, queue.time_s, above, right, false);
    edge(plot, queue.time_s, below, right, true);
    ctx.fill();
    above.forEach((value, at) => (below[at] = value));
  };
  queue.flows.forEach(({ packets }, at) => {
    if (plot.series[at + 2]?.show) area(packets, fills[at] ?? "");
    else packets.forEach((value, index) => (below[index] = (below[index] ?? 0) + value));
  });
  area(queue.packets.map((value, at) => Math.max(value - (below[at] ?? 0), 0)), colour("--dim"));
  ctx.globalAlpha = 1;
  ctx.lineWidth = 1.4 * devicePixelRatio;
  points(plot, queue.lost, strokeOf, (x, y, size) => {
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.moveTo(x + size, y - size);
    ctx.lineTo(x - size, y + size);
  });
  points(plot, queue.marks, strokeOf, (x, y, size) => {
    ctx.moveTo(x + size, y);
    ctx.arc(x, y, size, 0, 2 * Math.PI);
  });
  ctx.restore();
}

/** Add the edge of an area of steps to the path, from left to right or back. */
function edge(plot: uPlot, time_s: number[], values: number[], right: number, back: boolean): void {
  const { ctx } = plot;
  const corners: [number, number][] = [];
  values.forEach((value, at) => {
    const y = plot.valToPos(value, "y", true);
    const next = time_s[at + 1];
    corners.push([plot.valToPos(time_s[at] ?? 0, "x", true), y],
      [next === undefined ? right : plot.valToPos(next, "x", true), y]);
  });
  if (back) corners.reverse();
  corners.forEach(([x, y], at) => (at || back ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
}

function points(plot: uPlot, of: Points, strokeOf: (flow: string | null) => string, shape: (x: number, y: number, size: number) => void): void {
  const size = CROSS_PX * devicePixelRatio;
  for (const flow of new Set(of.flow)) {
    plot.ctx.strokeStyle = strokeOf(flow);
    plot.ctx.beginPath();
    of.time_s.forEach((time, at) => {
      if (of.flow[at] === flow) shape(plot.valToPos(time, "x", true), plot.valToPos(of.packets[at] ?? 0, "y", true), size);
    });
    plot.ctx.stroke();
  }
}

export function windowsPicture(flows: AckStates[], look: Look, span: Span): Picture {
  const shown = flows.slice(0, MOST_FLOWS);
  const series = shown.flatMap((of) => {
    const base = look(of.name);
    const dotted = { ...base, dash: [2, 3], width: 1, label: `${of.name} ssthresh`, write: digits };
    return [
      stepped(of.time_s, of.cwnd_segments, { ...base, label: of.name, write: whole }, span),
      ...(of.ssthresh_segments.some((value) => value !== null) ? [stepped(of.time_s, of.ssthresh_segments, dotted, span)] : []),
    ];
  });
  const left = flows.length - shown.length;
  return join(series, ["dotted: ssthresh", left ? `${left} more flows are not drawn` : ""].filter(Boolean).join("; "));
}
