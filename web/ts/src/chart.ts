// One chart: its markup, its cursor, its keys, and a table of its numbers.

import type { Summary, Value } from "./api";
import * as bands from "./bands";
import { colour } from "./style";
import { mark } from "./swatch";

export interface Line {
  label: string;
  stroke: string;
  dash: number[];
  width: number;
  /** Appears with its number in the legend. If it is drawn, then by `Spec.draw`. */
  bare?: boolean;
  write: (value: number) => string;
  /** Holds each value until the next one. */
  stepped?: boolean;
  /** Of a line of means: from the smallest to the largest value. */
  band?: bands.Band;
  summary?: Summary;
  samples?: number;
}

export interface Picture {
  x: number[];
  columns: (Value | undefined)[][];
  lines: Line[];
  /** Text after the title, such as the width of bins. */
  note: string;
  /** Value that the value axis includes in any case, such as a queue's limit. */
  reach?: number;
}

/** Something that happened at a time, or from one time to another. */
export interface Mark {
  from: number;
  to: number;
  stroke: string;
  /** The one that the visitor chose. */
  chosen: boolean;
}

export interface Spec {
  title: string;
  unit: string;
  fromZero: boolean;
  write: (value: number) => string;
  draw?: (plot: uPlot, picture: Picture) => void;
  /** Ends of the value axis, where they do not follow from the drawn lines. */
  limits?: (picture: Picture, span: [number, number]) => [number, number];
  /** In pixels; left out, it is that of most charts. */
  height?: number;
  /** A sentence that helps to read the chart. */
  hint?: string;
  /** The horizontal axis; left out, it is the time. Another one is logarithmic. */
  x?: { label: string; write: (value: number) => string; stepped: boolean };
}

/** What a chart needs from the group of charts that it belongs to. */
export interface Group {
  key: string;
  span: () => [number, number];
  warmup: number;
  /** Times of events, which each chart marks by vertical lines. */
  marks?: number[];
  /** What happened to flows, which each chart marks at its upper edge. */
  moments?: Mark[];
  zoom: (from: number, to: number) => void;
  back: () => void;
  whole: () => void;
  point: (time: number | null) => void;
}

const MOST_MARKS = 80; // more would cover the curves
const MOMENT_PX = 7;
const HEIGHT = 190;
const AXIS = 62;
const DIGIT = 7;
const MOST_DECADES = 4;
const LEAST_DRAG_PX = 5;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K, properties: Partial<HTMLElementTagNameMap[K]> = {}, ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export class Chart {
  readonly tools = element("span");
  private readonly note = element("span", { className: "dim" });
  private readonly area = element("div", { className: "plot", tabIndex: 0 });
  private readonly said = element("p", { className: "hidden" });
  private readonly table = element("div", { className: "scroll", tabIndex: 0 });
  private readonly details = element("details");
  private plot: uPlot | undefined;
  private picture: Picture | undefined;
  private made = "";

  constructor(host: HTMLElement, id: string, private readonly spec: Spec, private readonly group: Group) {
    const name = spec.x ? `${spec.title}: ${spec.unit}` : `${spec.title}${spec.unit && ` in ${spec.unit}`} over time`;
    this.area.setAttribute("role", "group");
    this.area.setAttribute("aria-roledescription", "chart");
    this.area.setAttribute("aria-label", name);
    this.said.setAttribute("aria-live", "polite");
    this.table.setAttribute("role", "region");
    this.table.setAttribute("aria-label", `Values of ${spec.title}`);
    this.area.addEventListener("keydown", (event) => this.key(event));
    const caption = element("figcaption", {}, element("b", { textContent: spec.title }),
      element("span", { className: "dim", textContent: spec.unit }), this.note, this.tools);
    if (spec.hint) caption.append(element("small", { className: "dim", textContent: spec.hint }));
    this.details.append(element("summary", { textContent: "Show values" }), this.table);
    const figure = element("figure", { className: "chart", id: `chart-${id}` }, caption, this.area, this.said, this.details);
    host.append(figure);
    let width = 0;
    new ResizeObserver(() => {
      if (this.width === width) return;
      width = this.width;
      this.plot?.setSize({ width, height: this.spec.height ?? HEIGHT });
    }).observe(this.area);
  }

  get width(): number {
    return Math.max(Math.floor(this.area.clientWidth), 120);
  }

  focus(): void {
    this.area.scrollIntoView({ block: "center" });
    this.area.focus({ preventScroll: true });
  }

  /** Show a message instead of the curves. */
  say(text: string): void {
    this.plot?.destroy();
    this.plot = this.picture = undefined;
    this.made = "";
    this.area.replaceChildren(element("p", { className: "message", textContent: text }));
    this.table.replaceChildren();
    this.note.textContent = "";
  }

  show(picture: Picture): void {
    if (!picture.x.length) return this.say("No samples here.");
    const [min, max] = this.group.span();
    this.picture = picture;
    this.note.textContent = picture.note;
    this.tabulate(picture, min, max);
    const data = [picture.x, ...picture.columns] as uPlot.AlignedData;
    const looks = JSON.stringify(picture.lines.map(({ label, stroke, dash, bare }) => [label, stroke, dash, bare]));
    if (this.plot && looks === this.made) {
      const plot = this.plot;
      plot.batch(() => {
        plot.setData(data, false);
        plot.setScale("x", { min, max });
      });
      return;
    }
    this.plot?.destroy();
    this.area.replaceChildren();
    this.made = looks;
    this.plot = new uPlot(this.options(picture), data, this.area);
    mark(this.area, picture.lines);
    this.plot.setScale("x", { min, max });
  }

  /** Show another part of the time, with the present samples until new ones arrive. */
  reach(min: number, max: number): void {
    this.plot?.setScale("x", { min, max });
  }

  /** Draw again what is shown, with other marks. */
  remark(): void {
    this.plot?.redraw(false, false);
  }

  /** Draw the chart again with new colours. */
  restyle(): void {
    this.made = "";
  }

  /** Put the cursor at a time, or remove it. */
  point(time: number | null): void {
    const plot = this.plot;
    if (!plot) return;
    plot.setCursor({ left: time === null ? -10 : plot.valToPos(time, "x"), top: time === null ? -10 : 0 });
  }

  private key(event: KeyboardEvent): void {
    const plot = this.plot;
    if (!plot || event.target !== this.area || event.ctrlKey || event.altKey || event.metaKey) return;
    const [min, max] = this.group.span();
    const at = plot.cursor.left !== undefined && plot.cursor.left >= 0
      ? plot.posToVal(plot.cursor.left, "x") : null;
    const step = ((max - min) / 200) * (event.shiftKey ? 10 : 1);
    const middle = at ?? (min + max) / 2;
    const zoom = (factor: number) =>
      this.group.zoom(middle - (middle - min) * factor, middle + (max - middle) * factor);
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.move(at === null ? max : Math.max(min, at - step)),
      ArrowRight: () => this.move(at === null ? min : Math.min(max, at + step)),
      Home: () => this.move(min),
      End: () => this.move(max),
      "+": () => zoom(0.5),
      "=": () => zoom(0.5),
      "-": () => zoom(2),
      Backspace: () => this.group.back(),
      Escape: () => (this.group.whole(), this.group.point(null)),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  private move(time: number): void {
    this.group.point(time);
    const plot = this.plot;
    if (!plot) return;
    const values = (this.picture?.lines ?? []).map((line, index) => {
      const at = plot.cursor.idxs?.[index + 1];
      const value = at == null ? null : plot.data[index + 1]?.[at];
      const text = value == null ? "nothing" : line.write(value) + bands.write(line, plot.data[0]?.[at as number]);
      return `${line.label} ${text}`;
    });
    this.said.textContent = `${this.writeX(time, 2)}: ${values.join(", ")}`;
  }

  private writeX(value: number, places: number): string {
    return this.spec.x?.write(value) ?? `${value.toFixed(places)} s`;
  }

  private tabulate(picture: Picture, min: number, max: number): void {
    const lines = picture.lines.filter((line) => line.summary);
    this.details.hidden = !lines.length;
    const head = ["curve", "samples", "min", "mean", "max", "last"];
    const rows = lines.map((line) => {
      const { min, mean, max, last } = line.summary as Summary;
      const cells = [min, mean, max, last].map((value) => (value === null ? "–" : line.write(value)));
      return element("tr", {}, element("th", { scope: "row", textContent: line.label }),
        ...[String(line.samples ?? "–"), ...cells].map((text) =>
          element("td", { className: "n", textContent: text })));
    });
    this.table.replaceChildren(element("table", {},
      element("caption", { textContent: `${this.spec.title}, all samples from ${min.toFixed(2)} to ${max.toFixed(2)} s` }),
      element("thead", {}, element("tr", {}, ...head.map((text, index) =>
        element("th", { scope: "col", className: index ? "n" : "", textContent: text })))),
      element("tbody", {}, ...rows)));
  }

  private options(picture: Picture): uPlot.Options {
    const { group, spec } = this;
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--grid"), width: 1 },
      ticks: { stroke: colour("--grid"), width: 1, size: 4 }, font: "11.5px system-ui, sans-serif" };
    const all = (_: uPlot, low: number | null, high: number | null): [number, number] =>
      [low ?? group.span()[0], high ?? group.span()[1]];
    return {
      width: this.width,
      height: spec.height ?? HEIGHT,
      padding: [8, 12, 0, 0],
      legend: { markers: { width: 0 } }, // see swatch.ts
      scales: {
        x: { time: false, range: all, distr: spec.x ? 3 : 1 },
        y: { range: (plot, low, high) => this.limits(plot, low, high) },
        none: { range: [0, 1] },
      },
      axes: [
        { ...axis, size: 26, gap: 3, ...(spec.x ? { splits: (plot: uPlot) => decades(plot), filter: (_: uPlot, all: number[]) => all } : {}), values: (_plot, ticks) =>
          ticks.map((tick) => (tick == null ? null : spec.x?.write(tick) ?? `${+tick.toFixed(6)} s`)) },
        { ...axis, size: (_plot, texts) => Math.max(AXIS, DIGIT * Math.max(0, ...(texts ?? []).map((text) => text?.length ?? 0)) + 14), gap: 4, values: (_plot, ticks) => ticks.map(spec.write) },
      ],
      series: [
        { label: spec.x?.label ?? "time", value: (_plot, value) => (value == null ? "–" : this.writeX(value, 3)) },
        ...picture.lines.map((line, index): uPlot.Series => ({
          label: line.label,
          stroke: line.stroke,
          dash: line.dash,
          width: line.width,
          spanGaps: false,
          scale: line.bare ? "none" : "y",
          points: { show: line.bare ? false : undefined },
          ...(line.bare ? { paths: () => null } : {}),
          ...(spec.x?.stepped || (line.stepped && !line.bare) ? { paths: uPlot.paths.stepped?.({ align: 1 }) } : {}),
          // The present picture, because a unit may have changed since these options were made.
          value: (plot, value, _series, at) => this.legend(plot, this.picture?.lines[index], value, at),
        })),
      ],
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false },
        points: { size: (_plot, index) => (picture.lines[index - 1]?.bare ? 0 : 6) },
        dataIdx: nearest,
        sync: { key: group.key, setSeries: false,
          filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
        bind: { dblclick: () => () => (group.back(), null) },
      },
      hooks: {
        drawClear: [(plot) => this.shade(plot)],
        drawAxes: [(plot) => this.mark(plot), // above the grid, below the curves
          (plot) => bands.drawBands(plot, this.picture?.lines ?? [])],
        draw: [(plot) => this.picture && spec.draw?.(plot, this.picture), (plot) => this.markMoments(plot)],
        setSelect: [(plot) => {
          const { left, width } = plot.select;
          if (width < LEAST_DRAG_PX) return;
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          group.zoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
        }],
      },
    };
  }

  private legend(plot: uPlot, line: Line | undefined, value: number | null, at: number | null): string {
    if (value == null || !line) return "–";
    return line.write(value) + bands.write(line, at === null ? undefined : plot.data[0][at]);
  }

  private limits(plot: uPlot, lowest: number | null, highest: number | null): [number, number] {
    if (this.spec.limits && this.picture) return this.spec.limits(this.picture, this.group.span());
    if (lowest === null || highest === null) return [0, 1];
    const [least, most] = bands.extremes(plot, this.picture?.lines ?? [], this.group.span());
    const [low, high] = [Math.min(lowest, least), Math.max(highest, most)];
    const top = Math.max(high, this.picture?.reach ?? high);
    if (this.spec.fromZero) return [0, top > 0 ? top * 1.06 : 1];
    const margin = (top - low) * 0.06 || Math.abs(top) * 0.05 || 1;
    return [low - margin, top + margin];
  }

  /** Draw a line at each event that is in sight, or none if they are too many. */
  private mark(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const places = (this.group.marks ?? []).map((time) => Math.round(plot.valToPos(time, "x", true)))
      .filter((x) => x >= bbox.left && x <= bbox.left + bbox.width);
    if (places.length > MOST_MARKS) return;
    ctx.save();
    ctx.fillStyle = colour("--event");
    places.forEach((x) => ctx.fillRect(x, bbox.top, Math.max(1, Math.round(devicePixelRatio)), bbox.height));
    ctx.restore();
  }

  /** Mark what happened to flows: a tick where it begins, a bar as long as it lasts. */
  private markMoments(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const [right, height] = [bbox.left + bbox.width, MOMENT_PX * devicePixelRatio];
    ctx.save();
    for (const { from, to, stroke, chosen } of this.group.moments ?? []) {
      const [start, end] = [plot.valToPos(from, "x", true), plot.valToPos(to, "x", true)];
      if (end < bbox.left || start > right) continue;
      ctx.fillStyle = stroke;
      const left = Math.max(start, bbox.left);
      ctx.fillRect(left, bbox.top, Math.min(end, right) - left, height / 3);
      if (start >= bbox.left) ctx.fillRect(Math.round(start), bbox.top, Math.max(2, devicePixelRatio), chosen ? bbox.height : height);
    }
    ctx.restore();
  }

  /** Draw a grey area over the warm-up, which the metrics leave out. */
  private shade(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const end = Math.min(plot.valToPos(this.group.warmup, "x", true), bbox.left + bbox.width);
    const start = Math.max(plot.valToPos(0, "x", true), bbox.left);
    if (end <= start) return;
    ctx.save();
    ctx.fillStyle = colour("--warmup");
    ctx.fillRect(start, bbox.top, end - start, bbox.height);
    ctx.restore();
  }
}

/** Return 1, 2 and 5 times powers of ten within the horizontal axis, or the powers alone if many. */
function decades({ scales: { x } }: uPlot): number[] {
  const [low, high] = [x?.min ?? 1, x?.max ?? 1];
  const powers = Array.from({ length: Math.max(Math.floor(Math.log10(high)) - Math.floor(Math.log10(low)) + 1, 1) },
    (_, at) => 10 ** (Math.floor(Math.log10(low)) + at));
  const steps = powers.length > MOST_DECADES ? [1] : [1, 2, 5];
  return powers.flatMap((power) => steps.map((step) => step * power)).filter((one) => one >= low && one <= high);
}

/** Return the index of the value nearest in time, because each flow has its own sampling times. */
function nearest(plot: uPlot, series: number, index: number): number {
  const values = plot.data[series];
  const times = plot.data[0];
  if (!values || values[index] !== undefined) return index;
  let before = index, after = index;
  while (before > 0 && values[before] === undefined) before--;
  while (after < values.length - 1 && values[after] === undefined) after++;
  if (values[before] === undefined) return after;
  if (values[after] === undefined) return before;
  const at = times[index] ?? 0;
  return at - (times[before] ?? 0) <= (times[after] ?? 0) - at ? before : after;
}
