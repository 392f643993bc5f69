// The chart of queues: backlogs, their limits, and drops.

import type { QueueSamples, Value } from "./api";
import type { Picture } from "./chart";
import { column, join } from "./series";
import { colour, digits, line, whole } from "./style";

export type Unit = "packets" | "kB" | "ms";

export const UNITS: Unit[] = ["packets", "kB", "ms"];

export const FIELDS: Record<Unit, [field: string, factor: number]> = {
  packets: ["backlog_packets", 1],
  kB: ["backlog_bytes", 1e-3],
  ms: ["queue_delay_s", 1e3],
};

const QUEUE_COLOUR = 6; // apart from the first flows' colours
const TICK = 9;

/** Return how the queue of that index among those drawn looks. */
export const queueLine = (index: number) => ({ ...line(QUEUE_COLOUR + index), width: 1.5 });

/** Return the limit of a queue, 0 if unknown. In ms it depends on the rate. */
function limitOf(queue: QueueSamples, unit: Unit): number {
  if (unit === "packets") return queue.limit_packets ?? 0;
  const bytes = queue.limit_bytes ?? 0;
  if (unit === "kB") return bytes * 1e-3;
  return queue.rate_bps && !queue.rate_steps.length ? (bytes * 8e3) / queue.rate_bps : 0;
}

/** Return the drops since the previous point. The counter at a bin's end is its largest value. */
function drops(queue: QueueSamples): Value[] {
  const counter = queue.high?.drops ?? queue.fields.drops ?? [];
  const before = queue.low?.drops?.[0];
  return counter.map((value, at) => {
    const last = at ? counter[at - 1] : before;
    return value === null || last === undefined ? null : value - (last ?? value);
  });
}

export function backlogs(queues: QueueSamples[], unit: Unit): Picture {
  const used = queues.filter((queue) => queue.direction === "forward" || (queue.summary.backlog_packets?.max ?? 0) > 0);
  const [field, factor] = FIELDS[unit];
  const write = unit === "packets" ? whole : (value: number) => `${digits(value)} ${unit}`;
  const series = used.map((queue, index) => {
    const look = queueLine(index);
    const ticks = { ...look, label: `${queue.name} drops`, stroke: colour("--drop"), dash: [], bare: true, write: whole };
    return {
      time_s: queue.time_s,
      bin_s: queue.bin_s,
      columns: [
        column(queue, field, { ...look, label: queue.name }, write, factor),
        { line: ticks, values: drops(queue) },
      ],
    };
  });
  const most = Math.max(...used.map((queue) => queue.summary.backlog_packets?.max ?? 0), 1);
  const limit = Math.max(...used.map((queue) => limitOf(queue, unit)), 0);
  const near = unit !== "packets" || limit <= 4 * most;
  return join(series, "red ticks above: drops", limit && near ? limit : undefined);
}

/** Draw the limit as a line, and a tick where packets were dropped since the previous point. */
export function drawQueue(plot: uPlot, picture: Picture): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  if (picture.reach) {
    const y = Math.round(plot.valToPos(picture.reach, "y", true));
    ctx.strokeStyle = colour("--dim");
    ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.setLineDash([]);
  }
  ctx.strokeStyle = colour("--drop");
  ctx.beginPath();
  picture.lines.forEach((line, at) => {
    if (!line.bare || !plot.series[at + 1]?.show) return;
    picture.columns[at]?.forEach((count, index) => {
      if (!count) return;
      const x = Math.round(plot.valToPos(picture.x[index] ?? 0, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) return;
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + TICK * devicePixelRatio);
    });
  });
  ctx.stroke();
  ctx.restore();
}
