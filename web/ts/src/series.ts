// Samples as the columns of a chart.

import type { Samples, Value } from "./api";
import type { Line, Picture } from "./chart";
import { digits } from "./style";

export type Look = (name: string) => Pick<Line, "stroke" | "dash" | "width">;
export type Column = { line: Line; values: Value[] };

export type Series = { time_s: number[]; bin_s?: number; columns: Column[] };

/** Merge series with different sampling times onto one time axis. */
export function join(series: Series[], text: string, reach?: number): Picture {
  const filled = series.filter(({ time_s }) => time_s.length);
  const bin_s = Math.max(...filled.map((one) => one.bin_s ?? 0), 0);
  const bins = bin_s ? `mean over ${digits(bin_s, 3)} s, shaded from least to largest` : "";
  const note = [bins, text].filter(Boolean).join("; ");
  const lines = filled.flatMap(({ columns }) => columns.map((column) => column.line));
  if (!filled.length) return { x: [], columns: [], lines, note, reach };
  const tables = filled.map(({ time_s, columns }) =>
    [time_s, ...columns.map(({ values }) => values)] as uPlot.AlignedData);
  const [x, ...columns] = tables.length > 1 ? uPlot.join(tables) : (tables[0] as uPlot.AlignedData);
  return { x: x as number[], columns: columns as (Value | undefined)[][], lines, note, reach };
}

const scaled = (values: Value[], factor: number) =>
  values.map((value) => (value === null ? null : value * factor));

type Binned = Pick<Samples, "samples" | "time_s" | "fields" | "low" | "high" | "summary">;

export function column(of: Binned, field: string, look: Omit<Line, "write">, write: Line["write"], factor = 1): Column {
  const { min, mean, max, last } = of.summary[field] ?? { min: null, mean: null, max: null, last: null };
  const [a, b, c, d] = scaled([min, mean, max, last], factor) as [Value, Value, Value, Value];
  const [low, high] = [of.low?.[field], of.high?.[field]];
  const band = low && high && { x: of.time_s, low: scaled(low, factor), high: scaled(high, factor) };
  return {
    line: { ...look, write, band, samples: of.samples, summary: { min: a, mean: b, max: c, last: d } },
    values: factor === 1 ? of.fields[field] ?? [] : scaled(of.fields[field] ?? [], factor),
  };
}
